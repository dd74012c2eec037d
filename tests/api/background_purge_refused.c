// builds: fast linked
/* The thread of background=on takes no time where the system refuses what would give memory back:
 * a filter of system calls that was installed later, or memory that is locked. The program starts
 * itself with LOAM_OPTIONS set. */
#include "execute_again.h"
#include "threads.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { COUNT = 3000, BYTES = 20000, MANY = 100000, SMALL = 300 };
static void *blocks[COUNT], *small[MANY];

/* In all threads. False if it cannot be. */
static int refuse_madvise(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static int lock_all(void) { return mlockall(MCL_CURRENT | MCL_FUTURE) == 0; }

static void take_all(void) {
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(BYTES)), 1, BYTES);
  for (int i = 0; i < MANY; i++) memset(small[i] = opaque(malloc(SMALL)), 1, SMALL);
}

static void free_all(void) {
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  for (int i = 0; i < MANY; i++) free(small[i]);
}

static int be_child(int (*refuse)(void)) {
  take_all();
  free_all();
  malloc_trim(0); /* it works */
  take_all();
  if (!refuse()) return CANNOT;
  free_all();
  sleep_ms(1000);
  double before = processor_seconds();
  sleep_ms(2000);
  CHECK_THAT((processor_seconds() - before) * 1000, <, 400);
  return 0;
}

int main(int count, char **arguments) {
  if (count > 1) return be_child(strcmp(arguments[1], "filter") == 0 ? refuse_madvise : lock_all);
  setenv("LOAM_OPTIONS", "background=on,purge_delay_ms=50", 1);
  int filtered = run_again(NULL, arguments[0], "filter");
  int locked = run_again(NULL, arguments[0], "lock");
  return filtered != 0 ? filtered : locked;
}
