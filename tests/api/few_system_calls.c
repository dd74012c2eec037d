/* Programs that let the kernel end them for any system call but those that they expect (seccomp):
 * once started, loam makes none but for memory and locks, and for the clock where the kernel has no
 * other way to it. So too where threads begin later, sleep, and exchange blocks; with profile=on,
 * guard_ms and background=on, whose thread has begun; and in the child of a fork.
 *
 * The program starts itself for each. */
// builds: fast checking hardened linked
#include "execute_again.h"
#include "names.h"
#include "threads.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { COUNT = 30000, FILTER_MOST = 64, SLEEPERS = 8 };
static void *blocks[COUNT];

/* ---- The filter ---- */

static const int expected[] = {
    /* loam's */
    SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise,
#if defined(SYS_mmap)
    SYS_mmap,
#endif
#if defined(SYS_mmap2)
    SYS_mmap2,
#endif
#if defined(SYS_futex)
    SYS_futex,
#endif
#if defined(SYS_futex_time64)
    SYS_futex_time64,
#endif
#if defined(SYS_clock_gettime)
    SYS_clock_gettime,
#endif
#if defined(SYS_clock_gettime64)
    SYS_clock_gettime64,
#endif
    /* the program's own, for its threads, for sleeping and at its end */
    SYS_write, SYS_exit_group, SYS_exit, SYS_clone, SYS_set_robust_list, SYS_rt_sigprocmask,
    SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall,
#if defined(SYS_clock_nanosleep_time64)
    SYS_clock_nanosleep_time64,
#endif
#if defined(SYS_clone3)
    SYS_clone3,
#endif
#if defined(SYS_rseq)
    SYS_rseq,
#endif
};

static int install(void) {
  static struct sock_filter filter[FILTER_MOST];
  size_t count = sizeof expected / sizeof *expected, n = 0;
  CHECK_THAT(count + 3, <=, FILTER_MOST);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; i++)
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)expected[i],
                                               (unsigned char)(count - i), 0);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* ---- What programs do ---- */

static void take_and_free(size_t count, size_t least, size_t step) {
  for (size_t i = 0; i < count; i++) {
    size_t size = least + i * step % (least + 1);
    blocks[i] = opaque(malloc(size));
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, size < 100 ? size : 100);
  }
  for (size_t i = 0; i < count; i++)
    if (i % 16 != 0) free(blocks[i]);
  for (size_t i = 0; i < count; i += 16) free(blocks[i]);
}

/* So long that the clock turns, and pages between blocks go back. */
static void be_busy(double seconds) {
  for (double end = seconds_now() + seconds; seconds_now() < end; sleep_ms(10)) {
    take_and_free(COUNT, 16, 7);
    take_and_free(COUNT / 4, 2000, 177);
    take_and_free(400, 20000, 999);
    take_and_free(40, 300000, 9999);
  }
}

static void grow(void) {
  for (int round = 0; round < 5; round++) {
    unsigned char *block = opaque(malloc(1000));
    for (size_t size = 1000; size < 80 * MIB; size += size / 2) {
      block = opaque(realloc(block, size));
      CHECK(block != NULL);
      block[size - 1] = 1;
    }
    free(block);
  }
}

static void do_rare_things(void) {
  for (size_t shift = 4; shift < 22; shift++) {
    void *aligned = NULL;
    CHECK_EQ(posix_memalign(&aligned, (size_t)1 << shift, 5000), 0);
    CHECK_THAT(malloc_usable_size(aligned), >=, 5000);
    free(aligned);
  }
  for (int i = 0; i < 20; i++) {
    char *huge = opaque(calloc(1, 40 * MIB));
    CHECK_EQ(huge[20 * MIB], 0);
    huge[20 * MIB] = 1;
    free(huge);
  }
  CHECK(opaque(malloc(opaque_size(BEYOND_ALL_MEMORY))) == NULL);
  if (sizeof(void *) == 8) CHECK(opaque(malloc(opaque_size((size_t)1 << 46))) == NULL);
}

static void *warm_up(void *unused) {
  take_and_free(3000, 16, 7);
  take_and_free(100, 20000, 999);
  return unused;
}

static void *do_nothing(void *unused) { return unused; }

/* One thread. */
static int be_alone(void) {
  warm_up(NULL);
  if (!install()) return CANNOT;
  be_busy(1.5);
  grow();
  do_rare_things();
  be_busy(0.5);
  return 0;
}

static void *own[SLEEPERS][1000];

static void *sleep_long(void *index) {
  void **mine = own[(uintptr_t)index];
  for (int i = 0; i < 1000; i++) mine[i] = opaque(malloc(500 + (size_t)i));
  for (int i = 0; i < 1000; i++)
    if (i % 3 != 0) free(mine[i]), mine[i] = NULL;
  sleep_ms(3000);
  for (int i = 0; i < 1000; i++) free(opaque(malloc(500)));
  return NULL;
}

/* What sleepers have. */
static void *free_others(void *unused) {
  for (int i = 0; i < SLEEPERS; i++)
    for (int k = 0; k < 1000; k++) free(own[i][k]), own[i][k] = NULL;
  return unused;
}

/* The C library's own first thread has it set up handlers. */
static int be_many(void) {
  pthread_t threads[SLEEPERS];
  run_in_thread(do_nothing, NULL);
  if (!install()) return CANNOT;
  for (uintptr_t i = 0; i < SLEEPERS; i++) threads[i] = start_thread(sleep_long, (void *)i);
  be_busy(1.5);
  run_in_thread(free_others, NULL);
  for (int i = 0; i < 50; i++) run_in_thread(warm_up, NULL);
  malloc_trim(0);
  grow();
  do_rare_things();
  be_busy(0.5);
  for (int i = 0; i < SLEEPERS; i++) join_thread(threads[i]);
  malloc_trim(0);
  return 0;
}

/* The child of a fork, as a server's for one connection. */
static int be_child(void) {
  int status;
  run_in_thread(warm_up, NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    free(opaque(malloc(100))); /* with background=on the child's thread begins with this */
    _exit(be_many());
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static const struct {
  const char *name;
  int (*be)(void);
} kinds[] = {{"alone", be_alone}, {"many", be_many}, {"child", be_child}};
enum { KINDS = sizeof kinds / sizeof *kinds };

int main(int count, char **arguments) {
  static const char *const options[] = {"", "background=on", "guard_ms=10",
                                        "profile=on,profile_bytes=16384",
                                        "background=on,guard_ms=10,profile=on,profile_bytes=65536"};
  for (size_t i = 0; i < KINDS && count > 1; i++)
    if (strcmp(arguments[1], kinds[i].name) == 0) _exit(kinds[i].be()); /* nothing is written */
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    CHECK_EQ(setenv("LOAM_OPTIONS", options[i], 1), 0);
    for (size_t k = 0; k < KINDS; k++) {
      int result = run_again(NULL, arguments[0], kinds[k].name);
      if (result != 0) return result;
    }
  }
  return 0;
}
