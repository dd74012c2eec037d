// windows: yes
/* Whatever a thread's first call is, it works: also free, realloc and calloc. */
#include "threads.h"
#include "names.h"

static void *first_free(void *block) { return free(block), NULL; }
static void *first_realloc(void *block) { return opaque(realloc(block, 5000)); }
static void *first_calloc(void *unused) { return (void)unused, opaque(calloc(10, 10)); }
static void *first_aligned(void *unused) { return (void)unused, opaque(aligned_alloc(4096, 1)); }
static void *first_usable(void *block) { return (void *)malloc_usable_size(block); }
static void *first_large_free(void *block) { return free(block), NULL; }

int main(void) {
  for (int round = 0; round < 50; round++) {
    run_in_thread(first_free, opaque(malloc(100)));
    run_in_thread(first_large_free, opaque(malloc(10 * MIB)));
    unsigned char *block = opaque(malloc(100));
    fill(block, 0, 100, 1);
    block = run_in_thread(first_realloc, block);
    check_filled(block, 0, 100, 1);
    CHECK_THAT((size_t)run_in_thread(first_usable, block), >=, 5000);
    free(block);
    void *cleared = run_in_thread(first_calloc, NULL);
    check_zero(cleared, 100);
    free(cleared);
    void *aligned = run_in_thread(first_aligned, NULL);
    CHECK_EQ((uintptr_t)aligned % 4096, 0);
    free(aligned);
  }
  return 0;
}
