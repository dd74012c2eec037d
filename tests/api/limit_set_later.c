// builds: fast linked
/* A limit on the address space that a program sets itself leaves it room for its own calls; one
 * that nobody tells malloc of, for those of malloc; and memory that it locks is little more than what
 * it uses. */
#include "children.h"
#include "threads.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void *nothing(void *unused) { return unused; }

static void set_limit(void) {
  struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
  free(opaque(malloc(100)));
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  run_in_thread(nothing, NULL);
  void *own = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(own != MAP_FAILED);
  void *large = opaque(malloc(100 * MIB));
  CHECK(large != NULL);
  free(large);
  CHECK_EQ(opaque(malloc((size_t)3 << 30)), NULL);
  struct rlimit wrong = {2, 1};
  errno = 0;
  CHECK_EQ(setrlimit(RLIMIT_AS, &wrong), -1);
  CHECK_EQ(errno, EINVAL);
}

/* By the bare system call. */
static void set_limit_unseen(size_t unused) {
  (void)unused;
  struct {
    uint64_t current, maximum;
  } limit = {(uint64_t)2 << 30, (uint64_t)2 << 30};
  free(opaque(malloc(100)));
  CHECK_EQ(syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL), 0);
  for (int i = 0; i < 20; i++) {
    CHECK(opaque(malloc(5 * MIB)) != NULL);
    CHECK(opaque(malloc(40 * MIB)) != NULL);
    CHECK(opaque(malloc(100000)) != NULL);
  }
  CHECK_EQ(opaque(malloc((size_t)3 << 30)), NULL);
}

static void lock_all(void) {
  free(opaque(malloc(100)));
  size_t before = resident_bytes();
  double start = processor_seconds();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) { /* for want of the right */
    CHECK(errno == EPERM || errno == ENOMEM);
    return;
  }
  CHECK_THAT(processor_seconds() - start, <, 1);
  CHECK_THAT(resident_bytes(), <, before + 12 * MIB);
  void *blocks[200];
  for (size_t i = 0; i < 200; i++) touch(blocks[i] = opaque(malloc(i * 1000)), i * 1000);
  for (size_t i = 0; i < 200; i++) free(blocks[i]);
  CHECK_THAT(resident_bytes(), <, before + 64 * MIB);
}

int main(void) {
  lock_all();
  munlockall();
  run_one_by_one(set_limit_unseen, 1);
  set_limit();
  return 0;
}
