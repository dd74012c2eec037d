/*
 * launch: runs one program under a preloaded library and measures it.
 *
 *   launch LIBRARY|- PROGRAM [ARGUMENT...]
 *
 * Writes to file descriptor 3: wall ns, user us, system us, peak resident KiB, minor page faults,
 * wait status. A program of its own because the kernel counts the resident size of whoever forked
 * into the child's peak, and this one is small.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static unsigned long long microseconds(struct timeval t)
{
    return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_usec;
}

_Noreturn static void become(char **argv)
{
    close(3);
    if (strcmp(argv[1], "-") != 0)
        setenv("LD_PRELOAD", argv[1], 1);
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    uint64_t start_ns = now_ns();
    pid_t child = fork();
    if (child == 0)
        become(argv);
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 1;
    uint64_t wall_ns = now_ns() - start_ns;
    dprintf(3, "%llu %llu %llu %ld %ld %d\n", (unsigned long long)wall_ns,
            microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss,
            usage.ru_minflt, status);
    return 0;
}
