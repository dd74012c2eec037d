/* Blocks of the C library's own heap are told from addresses that are nobody's block. The C
 * library's malloc serves this program under its standard names. */
#include "unit.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#if defined(__GLIBC__)
static bool recognised(void *address) { return is_libc_block((uintptr_t)address); }

static void blocks_of_the_main_heap_are_recognised(void) {
  for (size_t size = 1; size < 100000; size = size * 3 / 2 + 1) {
    char *block = opaque(malloc(size));
    CHECK(recognised(block));
    free(block);
  }
}

static void *allocate_in_arena(void *size) { return opaque(malloc((size_t)size)); }

static void blocks_of_another_arena_are_recognised(void) {
  for (size_t size = 24; size <= 60000; size *= 5) {
    void *block = run_in_thread(allocate_in_arena, (void *)size);
    CHECK(((size_t *)block)[-1] & CHUNK_OTHER_ARENA);
    CHECK(recognised(block));
    free(block);
  }
}

static void blocks_with_a_mapping_of_their_own_are_recognised(void) {
  char *block = opaque(malloc(10 * MIB));
  CHECK(((size_t *)block)[-1] & CHUNK_MAPPED);
  CHECK(recognised(block));
  char *aligned = opaque(aligned_alloc(65536, 10 * MIB));
  CHECK(recognised(aligned));
  free(block), free(aligned);
}

static void aligned_blocks_are_recognised(void) {
  for (size_t alignment = 32; alignment <= 8192; alignment *= 2)
    CHECK(recognised(opaque(aligned_alloc(alignment, 1000))));
}

/* Without file descriptors the list of mappings cannot be read any more. */
static void blocks_near_a_known_one_are_recognised_without_the_mappings(void) {
  void *far = run_in_thread(allocate_in_arena, (void *)1000);
  CHECK(recognised(opaque(malloc(1000))) && recognised(far));
  struct rlimit none = {0, 0};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  struct lm_os_mapping mapping;
  CHECK(!lm_os_find_mapping((uintptr_t)far, &mapping));
  for (size_t size = 24; size < 2000; size += 100) CHECK(recognised(opaque(malloc(size))));
  CHECK(recognised(far));
  CHECK(!recognised((char *)far + 16));
}

static void what_can_be_read_is_told(void) {
  char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && lm_os_is_readable(page));
  CHECK_EQ(mprotect(page, 4096, PROT_NONE), 0);
  CHECK(!lm_os_is_readable(page));
  CHECK(!lm_os_is_readable(NULL));
}

static void the_inside_of_a_block_is_not_one(void) {
  char *block = opaque(calloc(1, 1000));
  CHECK(!recognised(block + 8));
  CHECK(!recognised(block + 16));
  CHECK(!recognised(block + 512));
}

static void a_block_whose_successor_says_that_it_is_free_is_not_one(void) {
  char *block = opaque(malloc(1000));
  size_t *next = (size_t *)(block - 2 * sizeof(size_t) + (((size_t *)block)[-1] & ~CHUNK_FLAGS));
  CHECK(recognised(block));
  next[1] &= ~CHUNK_PREVIOUS_IN_USE;
  CHECK(!recognised(block));
}

static void addresses_that_are_not_mapped_are_rejected_without_being_read(void) {
  static const uintptr_t wild[] = {0, 1, 8, 16, 4096, 0xdeadbeef0, (uintptr_t)1 << 47,
                                   (uintptr_t)1 << 62, UINTPTR_MAX, UINTPTR_MAX - 15};
  for (size_t i = 0; i < COUNT_OF(wild); i++) CHECK(!is_libc_block(wild[i]));
}

static void variables_and_code_are_rejected(void) {
  static size_t words[64];
  size_t local[64];
  memset(local, 0xff, sizeof local);
  for (size_t i = 0; i < 64; i++) words[i] = 0x21; /* as a block's head would look */
  for (size_t i = 0; i < 60; i++) {
    CHECK(!recognised(words + i));
    CHECK(!recognised(local + i));
  }
  CHECK(!recognised((void *)(((uintptr_t)is_libc_block + 15) & ~(uintptr_t)15)));
}

static void memory_without_access_is_rejected(void) {
  char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  CHECK(!recognised(pages + 64));
  /* The head can be read, what follows the block cannot. */
  CHECK_EQ(mprotect(pages, PAGE, PROT_READ | PROT_WRITE), 0);
  size_t *words = (size_t *)(pages + PAGE - 64);
  words[1] = 64 | CHUNK_PREVIOUS_IN_USE;
  CHECK(!recognised(words + 2));
  words[1] = 64 | CHUNK_OTHER_ARENA;
  CHECK(!recognised(words + 2));
}

static void a_mapping_that_merely_looks_like_a_blocks_is_rejected(void) {
  char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t *words = (size_t *)pages;
  words[1] = (2 * PAGE - 16) | CHUNK_MAPPED; /* not whole pages */
  CHECK(!recognised(words + 2));
  words[1] = (1 << 30) | CHUNK_MAPPED; /* longer than the mapping */
  CHECK(!recognised(words + 2));
}

static void free_hands_a_foreign_block_to_the_c_library(void) {
  struct mallinfo2 before = mallinfo2();
  char *block = opaque(malloc(10 * MIB));
  CHECK_EQ(mallinfo2().hblks, before.hblks + 1);
  loam_free(block);
  CHECK_EQ(mallinfo2().hblks, before.hblks);
}

static void realloc_moves_a_foreign_block_into_loam(void) {
  char *block = opaque(malloc(1000));
  fill(block, 0, 1000, 1);
  char *moved = loam_realloc(block, 5000);
  CHECK(lm_region_holds((uintptr_t)moved));
  check_filled(moved, 0, 1000, 1);
  loam_free(moved);
}

static void a_foreign_realloc_without_memory_keeps_the_block(void) {
  char *block = opaque(malloc(1000));
  fill(block, 0, 1000, 1);
  lm_fault_countdown = 0;
  lm_fault_more = 1000000;
  errno = 0;
  CHECK_EQ(loam_realloc(block, 5000), NULL);
  CHECK_EQ(errno, ENOMEM);
  check_filled(block, 0, 1000, 1);
  free(block);
}

static void usable_size_of_a_foreign_block_is_the_c_librarys(void) {
  char *block = opaque(malloc(1000));
  CHECK_EQ(loam_malloc_usable_size(block), malloc_usable_size(block));
  free(block);
}

static void ignored_addresses_change_nothing(void) {
  static char variable[64] __attribute__((aligned(16)));
  lm_options.foreign = LM_FOREIGN_IGNORE;
  loam_free(variable);
  CHECK_EQ(loam_malloc_usable_size(variable), 0);
  errno = 0;
  CHECK_EQ(loam_realloc(variable, 10), NULL);
  CHECK_EQ(errno, ENOMEM);
}

static void a_wild_free_ends_the_program(void) {
  static char variable[64] __attribute__((aligned(16)));
  pid_t child = fork();
  if (child == 0) {
    close(2);
    loam_free(variable);
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void) {
  RUN(blocks_of_the_main_heap_are_recognised);
  RUN(blocks_of_another_arena_are_recognised);
  RUN(blocks_with_a_mapping_of_their_own_are_recognised);
  RUN(aligned_blocks_are_recognised);
  RUN(blocks_near_a_known_one_are_recognised_without_the_mappings);
  RUN(what_can_be_read_is_told);
  RUN(the_inside_of_a_block_is_not_one);
  RUN(a_block_whose_successor_says_that_it_is_free_is_not_one);
  RUN(addresses_that_are_not_mapped_are_rejected_without_being_read);
  RUN(variables_and_code_are_rejected);
  RUN(memory_without_access_is_rejected);
  RUN(a_mapping_that_merely_looks_like_a_blocks_is_rejected);
  RUN(free_hands_a_foreign_block_to_the_c_library);
  RUN(realloc_moves_a_foreign_block_into_loam);
  RUN(a_foreign_realloc_without_memory_keeps_the_block);
  RUN(usable_size_of_a_foreign_block_is_the_c_librarys);
  RUN(ignored_addresses_change_nothing);
  RUN(a_wild_free_ends_the_program);
  return UNIT_RESULT();
}
#else
int main(void) { return 77; }
#endif
