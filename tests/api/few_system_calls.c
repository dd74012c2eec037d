/* Programs that let the kernel end them for any system call but those that they expect, once they
 * have warmed up (seccomp): loam makes none but for memory, locks and the clock. With
 * system_calls=memory also where threads begin later, sleep, and exchange blocks.
 *
 * The program starts itself for each. */
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
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
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

/* One thread, without an option. */
static int be_alone(void) {
  warm_up(NULL);
  run_in_thread(warm_up, NULL);
  if (!install()) return CANNOT;
  be_busy(1.5);
  grow();
  do_rare_things();
  be_busy(0.5);
  return 0;
}

/* ---- With system_calls=memory ---- */

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

static int be_many(void) {
  pthread_t threads[SLEEPERS];
  warm_up(NULL);
  run_in_thread(warm_up, NULL);
  CHECK_EQ(loam_control("system_calls", NULL, 0, "memory"), 0);
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

int main(int count, char **arguments) {
  if (count > 1) return strcmp(arguments[1], "alone") == 0 ? be_alone() : be_many();
  int alone = run_again(NULL, arguments[0], "alone");
  return alone != 0 ? alone : run_again(NULL, arguments[0], "many");
}
