/* What the system would not map for the program itself, no function of the family gives it either:
 * what is more than all memory is refused at once, and not found out about by being killed. */
#include "names.h"

#include <initializer_list>
#include <new>
#include <sys/mman.h>

static size_t all_memory_bytes() {
  static char text[4096];
  int file = open("/proc/meminfo", O_RDONLY);
  CHECK(file >= 0);
  CHECK_THAT(read(file, text, sizeof text - 1), >, 0);
  close(file);
  size_t total = 0;
  for (const char *name : {"MemTotal:", "SwapTotal:"}) {
    const char *field = strstr(text, name);
    CHECK(field != nullptr);
    total += strtoull(field + strlen(name), nullptr, 10) * KIB;
  }
  return total;
}

static bool system_maps(size_t size) {
  void *address =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return false;
  munmap(address, size);
  return true;
}

static void check_refused(void *block) {
  CHECK(opaque(block) == nullptr);
  CHECK_EQ(errno, ENOMEM);
  errno = 0;
}

/* Blocks of every kind that grow stay whole. */
static void check_growth(size_t size) {
  for (size_t before : {(size_t)100, 100 * KIB, 5 * MIB, 50 * MIB, 500 * MIB}) {
    unsigned char *block = static_cast<unsigned char *>(malloc(before));
    CHECK(block != nullptr);
    block[0] = 1, block[before - 1] = 2;
    check_refused(realloc(block, size));
    check_refused(reallocarray(block, size / 16, 16));
    CHECK_EQ(block[0], 1);
    CHECK_EQ(block[before - 1], 2);
    free(block);
  }
}

static void check_new(size_t size) {
  bool caught = false;
  try {
    opaque(operator new(size));
  } catch (const std::bad_alloc &) {
    caught = true;
  }
  CHECK(caught);
  CHECK(opaque(operator new(size, std::nothrow)) == nullptr);
}

int main() {
  size_t total = all_memory_bytes();
  for (size_t size : {total + total / 4, total * 2, total * 1000}) {
    if (system_maps(size)) return 77; /* vm.overcommit_memory is 1 */
    errno = 0;
    check_refused(malloc(size));
    check_refused(calloc(size / 8, 8));
    check_refused(aligned_alloc(64, size));
    check_refused(aligned_alloc(1 * MIB, size));
    check_refused(aligned_alloc(256 * MIB, size));
    check_refused(memalign(4096, size));
    check_refused(valloc(size));
    void *block;
    CHECK_EQ(posix_memalign(&block, 128 * MIB, size), ENOMEM);
    check_growth(size);
    check_new(size);
  }
  /* An alignment, however large, is not memory, but for the checking build, which puts as much before
   * a block. */
  if (strcmp(test_build(), "checking") == 0) return 0;
  void *aligned = opaque(aligned_alloc((size_t)1 << 36, 100 * MIB));
  CHECK(aligned != nullptr);
  free(aligned);
  return 0;
}
