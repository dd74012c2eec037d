// environment: LOAM_OPTIONS=purge_delay_ms=20
/* Where system calls are not what they are: under an emulator whose MADV_DONTNEED says 0 and does
 * nothing, and in a sandbox that refuses whatever malloc can do without. calloc gives zeros, blocks
 * that grow keep their contents, and every call works.
 *
 * The program starts itself behind a filter of the kernel's, which makes it so. */
#include "execute_again.h"
#include "threads.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { DONTNEED = 4 };

/* ---- The filters ---- */

static int install(struct sock_filter *filter, size_t count) {
  struct sock_fprog program = {(unsigned short)count, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), ANSWER(EPERM)

static int pretend(void) {
  struct sock_filter filter[] = {
      LOAD_NUMBER,
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),
      ALLOW,
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DONTNEED, 1, 0),
      ALLOW,
      ANSWER(0),
  };
  return install(filter, sizeof filter / sizeof *filter);
}

static int refuse(void) {
  struct sock_filter filter[] = {
      LOAD_NUMBER,
      REFUSE(SYS_madvise),
      REFUSE(SYS_mremap),
      REFUSE(SYS_prlimit64),
      REFUSE(SYS_sched_getaffinity),
      REFUSE(SYS_getrandom),
#if defined(SYS_statx) && __SIZEOF_LONG__ == 8 /* else the loader cannot do without it */
      REFUSE(SYS_statx),
#endif
      ALLOW,
  };
  return install(filter, sizeof filter / sizeof *filter);
}

/* ---- Behind them ---- */

static void check_zeros(size_t count, size_t size) {
  unsigned char **blocks = malloc(count * sizeof *blocks);
  CHECK(blocks != NULL);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < count; i++) {
      blocks[i] = opaque(calloc(1, size));
      CHECK(blocks[i] != NULL);
      for (size_t j = 0; j < size; j += 61) CHECK_EQ(blocks[i][j], 0);
      memset(blocks[i], 0xaa, size);
    }
    for (size_t i = 0; i < count; i++) free(blocks[i]);
    malloc_trim(0);
    sleep_ms(60);
    for (int i = 0; i < 2000; i++) free(opaque(malloc(300000))); /* a slow path: the clock turns */
    malloc_trim(0);
  }
  free(blocks);
}

static void check_growth(void) {
  size_t size = 100;
  unsigned char *block = malloc(size);
  fill(block, 0, size, 3);
  for (; size < 100 * MIB; size = size * 3 / 2) {
    block = opaque(realloc(block, size * 3 / 2));
    CHECK(block != NULL);
    check_filled(block, size - 50, size, 3);
    fill(block, size * 3 / 2 - 50, size * 3 / 2, 3);
  }
  check_filled(block, 0, 100, 3);
  free(block);
}

static void *allocate(void *unused) {
  for (size_t size = 1; size < 10 * MIB; size = size * 3 / 2 + 1) free(opaque(malloc(size)));
  return unused;
}

static int be_behind_filter(void) {
  check_zeros(20000, 100);
  check_zeros(20000, 3000);
  check_zeros(500, 20000);
  check_zeros(100, 200000);
  check_zeros(20, 1000000);
  check_zeros(3, 9000000);
  check_zeros(2, 70000000);
  check_growth();
  run_in_thread(allocate, NULL);
  pid_t child = fork();
  if (child == 0) {
    allocate(NULL);
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  return 0;
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) return be_behind_filter();
  int pretended = run_again(pretend, "child", "behind");
  return pretended != 0 ? pretended : run_again(refuse, "child", "behind");
}
