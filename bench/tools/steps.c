/*
 * steps: counts the instructions of each malloc and free by single steps.
 *
 *   steps LIBRARY|- COUNT LIVE [bytes 32]
 *
 * Runs itself again with the library preloaded; "-": with what is preloaded already. That child
 * COUNT times frees the oldest of LIVE blocks and allocates one, all by one thread; this process
 * executes it step by step and counts those in malloc and in free. Exact, and unlike a simulator
 * it runs what reserves much address space. Prints for each of the two calls: the most frequent
 * count (the fast path, with the return and without the call), its share of the calls, and the
 * mean.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE_MAX = 4096, STEPS_MAX = 4096, WARM_TURNS = 20 };

/* Linked at a fixed address (-no-pie), so that parent and child agree on these two. */
extern char __executable_start, etext;
static volatile int calling;   /* 0: neither, 1: malloc, 2: free */

static void child_main(long count, long live, size_t size)
{
    static void *blocks[LIVE_MAX];
    long warm = WARM_TURNS * live;
    for (long i = 0; i < warm + count; i++) {
        if (i == warm)
            raise(SIGSTOP);   /* warm: from here on the parent steps */
        void *oldest = blocks[i % live];
        calling = 2;
        free(oldest);
        calling = 1;
        void *block = malloc(size);
        calling = 0;
        blocks[i % live] = block;
    }
    _exit(0);
}

static uintptr_t instruction_pointer(pid_t child)
{
    struct user_regs_struct registers;
    struct iovec vector = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &vector))
        perror("ptrace"), exit(1);
#if defined(__x86_64__)
    return registers.rip;
#elif defined(__aarch64__) || defined(__riscv)
    return registers.pc;
#else
#error "steps: say here which register is the instruction pointer"
#endif
}

struct counts {
    long calls, total, of[STEPS_MAX];
};

static void record(struct counts *counts, long steps)
{
    counts->calls++;
    counts->total += steps;
    counts->of[steps < STEPS_MAX ? steps : STEPS_MAX - 1]++;
}

/* One step; 0 once the child has ended. */
static int step(pid_t child)
{
    int status;
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child)
        return 0;
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* Steps through the child; what runs outside of this program's code belongs to the current call. */
static void count_steps(pid_t child, struct counts *counts)
{
    long steps = 0;
    int call = 0;
    while (step(child)) {
        uintptr_t at = instruction_pointer(child);
        if (at >= (uintptr_t)&etext || at < (uintptr_t)&__executable_start) {
            steps++;
            continue;
        }
        if (steps && call)
            record(&counts[call], steps);
        steps = 0;
        call = (int)ptrace(PTRACE_PEEKDATA, child, (void *)&calling, NULL);
    }
}

static void print_counts(const char *call, const struct counts *counts)
{
    long mode = 0;
    for (long i = 1; i < STEPS_MAX; i++)
        if (counts->of[i] > counts->of[mode])
            mode = i;
    double calls = counts->calls ? (double)counts->calls : 1;
    printf("%s: %ld instructions in %.1f%% of %ld calls, mean %.1f\n", call, mode,
           100.0 * (double)counts->of[mode] / calls, counts->calls, (double)counts->total / calls);
}

static pid_t start_child(char **argv)
{
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(argv[1], "-") != 0)
            setenv("LD_PRELOAD", argv[1], 1);
        setenv("LD_BIND_NOW", "1", 1);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/proc/self/exe", "steps", "child", argv[2], argv[3], argv[4], (char *)NULL);
        _exit(127);
    }
    int status, stop = SIGTRAP;   /* first the stop at exec, then the child's own */
    for (; child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status); stop = SIGSTOP) {
        if (WSTOPSIG(status) == SIGSTOP && stop == SIGSTOP)
            return child;
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    fprintf(stderr, "steps: the child could not be traced or ended early\n");
    exit(1);
}

int main(int argc, char **argv)
{
    static struct counts counts[3];
    if (argc < 4)
        return 64;
    if (strcmp(argv[1], "child") == 0)
        child_main(atol(argv[2]), atol(argv[3]), argc > 4 ? (size_t)atol(argv[4]) : 32);
    long live = atol(argv[3]);
    if (live < 1 || live > LIVE_MAX)
        return 64;
    count_steps(start_child(argv), counts);
    print_counts("malloc", &counts[1]);
    print_counts("free", &counts[2]);
    return counts[1].calls ? 0 : 1;
}
