// builds: fast checking hardened linked
/* What a core has of loam's: every block, whatever its size, and of free and reserved memory no more
 * than 8 MiB beside what was used. By the kernel's own word: it leaves out mappings that have the
 * flag "dd" in /proc/self/smaps. */
#include "check.h"
#include "threads.h"

#include <stdbool.h>

enum { THREADS = 8, SMALL_EACH = 1300, SIZES = 7 };
static const size_t sizes[SIZES] = {16, 1000, 30000, 300000, 3 << 20, 20 << 20, 80 << 20};
static pthread_barrier_t all_have_taken;

/* ---- Mappings, read without a block ---- */

struct mapping {
  uintptr_t start, end;
  bool is_ours; /* writable, without a file or name */
};
typedef void mapping_visitor(void *context, const struct mapping *mapping);

/* Calls the visitor for each mapping that comes into a core. */
static void for_each_in_core(mapping_visitor *visitor, void *context) {
  static char text[4 * MIB];
  size_t length = 0;
  int file = open("/proc/self/smaps", O_RDONLY);
  CHECK(file >= 0);
  for (ssize_t part; (part = read(file, text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)part;
  close(file);
  CHECK_THAT(length, <, sizeof text - 1);
  struct mapping mapping = {0, 0, false};
  for (char *line = text; line < text + length; line = strchr(line, '\n') + 1) {
    char *end = strchr(line, '\n');
    unsigned long start, stop;
    char protection[5];
    int name = 0;
    if (strncmp(line, "VmFlags:", 8) == 0) {
      *end = 0;
      if (strstr(line, " dd") == NULL) visitor(context, &mapping);
      *end = '\n';
    } else if (sscanf(line, "%lx-%lx %4s %*s %*s %*s%n", &start, &stop, protection, &name) == 3) {
      mapping = (struct mapping){start, stop, protection[1] == 'w' && line + name >= end - 1};
    }
  }
}

static void add_ours(void *sum, const struct mapping *mapping) {
  if (mapping->is_ours) *(size_t *)sum += mapping->end - mapping->start;
}

static size_t bytes_in_core(void) {
  size_t bytes = 0;
  for_each_in_core(add_ours, &bytes);
  return bytes;
}

struct block {
  uintptr_t start, end;
  size_t bytes_in_core;
};

static void add_part(void *context, const struct mapping *mapping) {
  struct block *block = context;
  uintptr_t from = mapping->start > block->start ? mapping->start : block->start;
  uintptr_t to = mapping->end < block->end ? mapping->end : block->end;
  if (from < to) block->bytes_in_core += to - from;
}

static void check_in_core(const void *start, size_t size) {
  struct block block = {(uintptr_t)start, (uintptr_t)start + size, 0};
  for_each_in_core(add_part, &block);
  CHECK_EQ(block.bytes_in_core, size);
}

/* ---- What there is ---- */

static void *take_little(void *unused) {
  for (int i = 0; i < SMALL_EACH; i++) memset(opaque(malloc(100)), 1, 100);
  pthread_barrier_wait(&all_have_taken);
  pthread_barrier_wait(&all_have_taken);
  return unused;
}

/* Stacks of threads that only wait are the same before and after. */
static void check_little_is_little(void) {
  static pthread_t threads[THREADS];
  pthread_barrier_init(&all_have_taken, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++) threads[i] = start_thread(take_little, NULL);
  pthread_barrier_wait(&all_have_taken);
  size_t bytes = bytes_in_core();
  size_t stack_bytes = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK_EQ(pthread_attr_getstacksize(&attributes, &stack_bytes), 0);
  /* The others have more records. */
  bool is_plain = strcmp(test_build(), "fast") == 0 || strcmp(test_build(), "linked") == 0;
  size_t beside = is_plain ? 8 * MIB : 12 * MIB;
  CHECK_THAT(bytes, <, THREADS * (stack_bytes + 64 * KIB) + 1 * MIB + beside);
  pthread_barrier_wait(&all_have_taken);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
}

static void check_all_blocks_are_there(void) {
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < SIZES; k++) {
      char *block = opaque(malloc(sizes[k]));
      CHECK(block != NULL);
      memset(block, 1, sizes[k]);
      check_in_core(block, sizes[k]);
      if (i % 2 == 0) free(block);
    }
}

int main(void) {
  check_little_is_little();
  check_all_blocks_are_there();
  return 0;
}
