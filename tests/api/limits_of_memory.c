// builds: fast linked
/* Programs run under limits that leave less than one region's usual length: of the address space,
 * and of data. What cannot be had is NULL, and what can be had is more than half of the limit. */
#include "children.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* Blocks of the size until there are no more; returns their bytes. */
static size_t take_all(size_t size) {
  size_t taken = 0;
  void **last = NULL;
  for (void **block; (block = opaque(malloc(size))) != NULL; last = block) {
    touch(block, size);
    *block = last;
    taken += size;
  }
  CHECK_EQ(errno, ENOMEM);
  while (last != NULL) {
    void **next = *last;
    free(last);
    last = next;
  }
  return taken;
}

static const size_t sizes[] = {100, 5000, 50000, 300000, 3000000};
static const struct {
  int resource;
  size_t bytes;
} limits[] = {{RLIMIT_AS, 100000 * KIB}, {RLIMIT_AS, 40000 * KIB}, {RLIMIT_DATA, 60000 * KIB}};
enum { SIZES = sizeof sizes / sizeof *sizes, LIMITS = sizeof limits / sizeof *limits };

static void work(size_t size, size_t limit_bytes) {
  /* The program's own mappings, beside blocks of loam's. */
  void *block = opaque(malloc(1000)), *large = opaque(malloc(2 * MIB));
  void *own = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(block != NULL && large != NULL && own != MAP_FAILED);
  free(block);
  free(large);
  CHECK_THAT(take_all(size), >, limit_bytes / 3);
}

/* The limit must hold from the first moment of the process. */
static void start_limited(size_t index) {
  size_t l = index % LIMITS;
  struct rlimit limit = {limits[l].bytes, limits[l].bytes};
  char size_number[] = {(char)('0' + index / LIMITS), 0}, limit_number[] = {(char)('0' + l), 0};
  CHECK_EQ(setrlimit(limits[l].resource, &limit), 0);
  execl("/proc/self/exe", "limited", size_number, limit_number, (char *)NULL);
  CHECK(!"executed");
}

int main(int count, char **arguments) {
  if (count == 3) work(sizes[atoi(arguments[1])], limits[atoi(arguments[2])].bytes);
  else run_one_by_one(start_limited, SIZES * LIMITS);
  return 0;
}
