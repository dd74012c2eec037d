/* The n-th system call of each kind that manages memory fails, for every n, with the real system:
 * each function works or says ENOMEM, contents stay, and all works once the call is over.
 *
 * A filter of the kernel's stops the child at such calls, and the parent answers for the kernel. */
#include "threads.h"

#if defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { CANNOT_FILTER = 77, NONE = -1, BLOCKS = 64 };
static const int calls[] = {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- The child ---- */

#define STOP_AT(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)

static int stop_at_calls(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      STOP_AT(SYS_mmap),
      STOP_AT(SYS_munmap),
      STOP_AT(SYS_mprotect),
      STOP_AT(SYS_mremap),
      STOP_AT(SYS_madvise),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int failures; /* calls that returned NULL */

static unsigned char *checked(void *block, unsigned char *old) {
  if (block == NULL) {
    CHECK_EQ(errno, ENOMEM);
    failures++;
    return old;
  }
  return (unsigned char *)block;
}

static void *allocate_in_thread(void *unused) {
  for (size_t size = 1; size < 3 * MIB; size *= 9) free(opaque(malloc(size)));
  return unused;
}

static void allocate(void) {
  static unsigned char *blocks[BLOCKS];
  size_t size = 20;
  for (int i = 0; i < BLOCKS; i++, size = size * 4 / 3) {
    blocks[i] = checked(opaque(i % 3 == 0 ? calloc(1, size) : malloc(size)), NULL);
    if (blocks[i] == NULL) continue;
    if (i % 3 == 0) check_zero(blocks[i], size < 5000 ? size : 5000);
    fill(blocks[i], 0, 20, (unsigned)i);
    if (size > 60 * MIB) break;
  }
  unsigned char *growing = checked(opaque(malloc(1000)), NULL);
  if (growing != NULL) fill(growing, 0, 20, 1000);
  for (size = 1000; growing != NULL && size < 80 * MIB; size = size * 7 / 4) {
    growing = checked(opaque(realloc(growing, size)), growing);
    check_filled(growing, 0, 20, 1000);
  }
  free(growing);
  pthread_t thread;
  if (pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0) join_thread(thread);
  for (int i = 0; i < BLOCKS; i++) {
    if (blocks[i] == NULL) continue;
    check_filled(blocks[i], 0, 20, (unsigned)i);
    free(blocks[i]);
    blocks[i] = NULL;
    if (i % 16 == 0) malloc_trim(0);
  }
  malloc_trim(0);
}

static void be_child(void) {
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(CANNOT_FILTER);
  raise(SIGSTOP);
  if (!stop_at_calls()) _exit(CANNOT_FILTER);
  for (int i = 0; i < 2; i++) allocate();
  CHECK_THAT(failures, <=, 1); /* of the call, in whichever round that was; the next ones work */
  _exit(0);
}

/* ---- The parent ---- */

static void answer(pid_t child, int error) {
  struct user_regs_struct registers;
  CHECK_EQ(ptrace(PTRACE_GETREGS, child, 0, &registers), 0);
  registers.orig_rax = (unsigned long long)-1; /* no call */
  registers.rax = (unsigned long long)-error;
  CHECK_EQ(ptrace(PTRACE_SETREGS, child, 0, &registers), 0);
}

static int number_of(pid_t child) {
  struct user_regs_struct registers;
  CHECK_EQ(ptrace(PTRACE_GETREGS, child, 0, &registers), 0);
  return (int)registers.orig_rax;
}

static pid_t start(void) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) be_child();
  CHECK_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) exit(CANNOT_FILTER);
  long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  CHECK_EQ(ptrace(PTRACE_SETOPTIONS, child, 0, options), 0);
  ptrace(PTRACE_CONT, child, 0, 0);
  return child;
}

static int is_event(int status, int event) { return status >> 8 == (SIGTRAP | event << 8); }

/* Lets the n-th call of a kind fail with the error. Returns how many calls of the kind there were
 * in all. */
static int run(int call, int n, int error) {
  int count = 0, status;
  pid_t child = start(), stopped;
  while ((stopped = waitpid(-1, &status, __WALL)) > 0) {
    if (!WIFSTOPPED(status)) {
      if (stopped != child) continue;
      if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_FILTER) exit(CANNOT_FILTER);
      if (status != 0) fprintf(stderr, "call %d, number %d, error %d\n", call, n, error);
      CHECK_EQ(status, 0);
      return count;
    }
    if (is_event(status, PTRACE_EVENT_SECCOMP) && number_of(stopped) == call && count++ == n)
      answer(stopped, error);
    ptrace(PTRACE_CONT, stopped, 0, 0);
  }
  CHECK(!"an end of the child");
  return 0;
}

int main(void) {
  static const int errors[] = {ENOMEM, EPERM, ENOSYS};
  for (int i = 0; i < CALLS; i++) {
    int count = run(calls[i], NONE, 0);
    printf("call %d: %d times\n", calls[i], count);
    for (int n = 0; n < count; n++) run(calls[i], n, errors[n % 3]);
  }
  return 0;
}
#else
int main(void) { return 77; }
#endif
