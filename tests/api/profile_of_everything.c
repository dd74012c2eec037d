/* With samples so close that every block of a kilobyte is one, a profile is exact: what is freed
 * elsewhere, resized, or taken by threads that end is where it belongs. */
#include "names.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "profile_file.h"
#include "threads.h"

#define SAMPLE_BYTES 16
#define COUNT 300

static char path[64];
static const void *caller; /* of the last take */

static __attribute__((noinline)) void *take(size_t size) {
  void *block = opaque(malloc(size));
  caller = __builtin_return_address(0);
  return block;
}

static struct sums sums_now(const void *from) {
  CHECK_EQ(loam_profile_write(path), 0);
  read_profile(path);
  return sums_from(from);
}

/* The checking build frees blocks later than the program does. */
static bool holds_back(void) { return strcmp(test_build(), "checking") == 0; }

static void *free_all(void *blocks) {
  for (int i = 0; i < COUNT; i++) free(((void **)blocks)[i]);
  return NULL;
}

/* Sizes from small ones to a mapping. */
static const size_t sizes[] = {1024, 5000, 30000, 100000, 700000, 40 * MIB};

static void freed_by_another_thread(void) {
  static void *blocks[COUNT];
  size_t taken = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t count = sizes[s] > MIB ? 3 : COUNT;
    memset(blocks, 0, sizeof blocks);
    for (size_t i = 0; i < count; i++) blocks[i] = take(sizes[s]);
    const void *from = caller;
    struct sums sums = sums_now(from);
    CHECK(sums.live_count >= (double)count);
    CHECK(sums.live_bytes >= (double)(count * sizes[s]));
    if (!holds_back()) {
      CHECK_EQ(sums.live_count, count);
      CHECK(sums.live_bytes <= (double)(count * sizes[s]) * 1.3 + 8192.0 * (double)count);
    }
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, free_all, blocks), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    if (!holds_back()) CHECK_EQ(sums_now(from).live_count, 0);
    taken += count;
    CHECK_EQ(sums_now(from).taken_count, taken);
  }
}

static __attribute__((noinline)) void *grow(void *block, size_t size) {
  block = opaque(realloc(block, size));
  caller = __builtin_return_address(0);
  return block;
}

static void what_grows_is_as_large_as_it_became(void) {
  static const size_t lasts[] = {20000, 200000, 3 * MIB, 80 * MIB};
  for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
    char *block = NULL;
    const void *from = NULL;
    for (size_t size = 1024; size < lasts[i] * 2; size += size / 2) {
      block = grow(block, size < lasts[i] ? size : lasts[i]);
      from = caller;
    }
    memset(block, 1, lasts[i]);
    struct sums sums = sums_now(from);
    if (!holds_back()) CHECK_EQ(sums.live_count, 1);
    CHECK(sums.live_bytes >= (double)lasts[i]);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!holds_back()) CHECK(sums.live_bytes <= (double)lasts[i] * 1.3 + (double)page);
    free(block);
    if (!holds_back()) CHECK_EQ(sums_now(from).live_count, 0);
  }
}

static void *take_and_end(void *blocks) {
  for (int i = 0; i < COUNT; i++) ((void **)blocks)[i] = malloc(1024 + (size_t)i);
  return NULL;
}

static void threads_that_end(void) {
  static void *blocks[4][COUNT];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CHECK_EQ(pthread_create(&threads[i], NULL, take_and_end, blocks[i]), 0);
  for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < COUNT; j++) {
      CHECK(malloc_usable_size(blocks[i][j]) >= 1024 + (size_t)j);
      memset(blocks[i][j], i, 1024 + (size_t)j);
    }
  for (int i = 0; i < 4; i++) free_all(blocks[i]);
}

static void a_child_goes_on_with_what_its_parent_has(void) {
  void *first = take(2000);
  const void *from = caller;
  pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(sums_now(from).live_count, 1);
    free(first);
    if (!holds_back()) CHECK_EQ(sums_now(from).live_count, 0);
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(sums_now(from).live_count, 1);
  free(first);
}

static void calloc_is_zero(void) {
  for (size_t size = 16; size < 3 * MIB; size *= 3) {
    char *block = opaque(malloc(size));
    memset(block, 0xff, size);
    free(block);
    block = opaque(calloc(1, size));
    for (size_t i = 0; i < size; i++) CHECK_EQ(block[i], 0);
    free(block);
  }
}

static void after_the_stop(void) {
  void *before = take(4000);
  const void *from = caller;
  loam_profile_stop();
  void *later[COUNT];
  for (int i = 0; i < COUNT; i++) later[i] = take(4000);
  CHECK_EQ(sums_now(caller).live_count, 0);
  CHECK_EQ(sums_now(from).live_count, 1);
  free(before);
  if (!holds_back()) CHECK_EQ(sums_now(from).live_count, 0);
  for (int i = 0; i < COUNT; i++) free(later[i]);
}

static void mistakes(void) {
  CHECK_EQ(loam_profile_write(path), EINVAL); /* none has been started */
  CHECK_EQ(loam_profile_start(1), EINVAL);
  CHECK_EQ(loam_profile_start((size_t)1 << 30), EINVAL);
  CHECK_EQ(loam_profile_start(SAMPLE_BYTES), 0);
  CHECK_EQ(loam_profile_write("/tmp/no such folder/file"), ENOENT);
}

int main(void) {
  if (loam_profile_start == NULL || !CALLERS_ARE_KNOWN) return 77;
  snprintf(path, sizeof path, "/tmp/loam-test-profile.%d", getpid());
  mistakes();
  freed_by_another_thread();
  what_grows_is_as_large_as_it_became();
  threads_that_end();
  a_child_goes_on_with_what_its_parent_has();
  calloc_is_zero();
  after_the_stop();
  unlink(path);
  return 0;
}
