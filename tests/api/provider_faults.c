// windows: yes
// long-arguments: both
// cost: 20
/* A script of calls in a heap with a page provider, once for each callback in it that can fail:
 * that one fails, alone or with all that follow. Each call works or says ENOMEM, contents stay, and
 * once it is over the heap serves again and gives everything back. The build `fast` has
 * both for each callback, as others have with an argument; else it is one for the odd ones, and one
 * for the even. */
#include "provider.h"

enum { HELD = 40 };
static struct strict strict;
static struct loam_heap *heap;
static unsigned char *held[HELD];
static size_t held_bytes[HELD];
static long failure_count;

static size_t head(size_t size) { return size < 64 ? size : 64; }

static int worked(const void *block) {
  CHECK_EQ(errno, block != NULL ? 0 : ENOMEM);
  failure_count += block == NULL;
  return block != NULL;
}

static void get(size_t i, size_t size) {
  errno = 0;
  unsigned char *block = opaque(i % 2 == 0 ? loam_heap_malloc(heap, size)
                                           : loam_heap_calloc(heap, 1, size));
  if (!worked(block)) return;
  if (i % 2 != 0) check_zero(block, head(size));
  held[i] = block;
  held_bytes[i] = size;
  fill(block, 0, head(size), (unsigned)i);
  block[size - 1] = pattern_byte(size - 1, (unsigned)i);
}

static void check(size_t i) {
  check_filled(held[i], 0, head(held_bytes[i]), (unsigned)i);
  check_filled(held[i], held_bytes[i] - 1, held_bytes[i], (unsigned)i);
}

static void change(size_t i, size_t size) {
  if (held[i] == NULL) return;
  check(i);
  errno = 0;
  unsigned char *block = opaque(loam_heap_realloc(heap, held[i], size));
  if (!worked(block)) {
    check(i);
    return;
  }
  held[i] = block;
  check_filled(block, 0, head(size < held_bytes[i] ? size : held_bytes[i]), (unsigned)i);
  held_bytes[i] = size;
  fill(block, 0, head(size), (unsigned)i);
  block[size - 1] = pattern_byte(size - 1, (unsigned)i);
}

static void drop(size_t i) {
  if (held[i] == NULL) return;
  check(i);
  errno = 0;
  if (i % 3 == 0) free(held[i]);
  else loam_heap_free(heap, held[i]);
  CHECK_EQ(errno, 0);
  held[i] = NULL;
}

static void drop_every(size_t step) {
  for (size_t i = 0; i < HELD; i += step) drop(i);
}

static void run_script(void) {
  static const size_t sizes[] = {20, 500, 9000, 40000, 120000, 300000, MIB};
  for (size_t i = 1; i < HELD; i++) get(i, sizes[i % 7] + i * 100);
  get(0, 34 * MIB);
  for (size_t i = 3; i < HELD; i += 3) change(i, held_bytes[i] * 2);
  change(0, 33 * MIB);
  drop_every(2);
  loam_malloc_trim(0);
  for (size_t i = 0; i < HELD; i += 2) get(i, sizes[i % 6] + i * 90);
  for (size_t i = 0; i < HELD; i += 5) change(i, sizes[i % 5]);
  drop_every(1);
  get(0, 400000);
  loam_heap_free_all(heap);
  held[0] = NULL;
  loam_malloc_trim(0);
}

static long run(long fault, int all) {
  strict_start(&strict);
  heap = strict_heap(&strict);
  strict.countdown = fault;
  strict.all = all;
  failure_count = 0;
  run_script();
  long failures = failure_count, calls = strict.call_count;
  CHECK(all || failures <= 1);
  strict.countdown = -1;
  failure_count = 0;
  run_script();
  CHECK_EQ(failure_count, 0);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
  CHECK(fault >= 0 || failures == 0);
  return fault < 0 ? calls : failures;
}

int main(int argument_count, char **unused) {
  const char *build = getenv("LOAM_TEST_BUILD");
  int both = argument_count > 1 || (build != NULL && strcmp(build, "fast") == 0);
  (void)unused;
  void *ordinary = opaque(malloc(100000)); /* which nothing of this touches */
  memset(ordinary, 1, 100000);
  long calls = run(-1, 0), seen = 0;
  CHECK_THAT(calls, >, 40);
  for (long fault = 0; fault < calls; fault++) {
    seen += run(fault, fault % 2);
    if (both) seen += run(fault, !(fault % 2));
  }
  CHECK_THAT(seen, >, 10);
  printf("%ld callbacks, %ld faults that a caller saw\n", calls, seen);
  for (int i = 0; i < 100000; i++) CHECK_EQ(((char *)ordinary)[i], 1);
  return 0;
}
