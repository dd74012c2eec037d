// builds: fast linked
/* A new-handler that releases memory lets operator new succeed after all. */
#include "names.h"
#include <new>
#include <sys/resource.h>

static const size_t RESERVE = 600 * MIB, LIMIT_AHEAD = 64 * MIB;
static void *reserve;

static void release_reserve() {
  CHECK(reserve != nullptr); /* called again: the memory did not come back */
  free(reserve);
  reserve = nullptr;
  malloc_trim(0);
}

static size_t mapped_bytes() {
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != nullptr && fscanf(file, "%zu", &pages) == 1);
  fclose(file);
  return pages * 4096;
}

int main() {
  reserve = opaque(malloc(RESERVE));
  rlim_t bytes = mapped_bytes() + LIMIT_AHEAD;
  struct rlimit limit = {bytes, bytes};
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  std::set_new_handler(release_reserve);
  void *block = opaque(::operator new(RESERVE / 2));
  CHECK(block != nullptr && reserve == nullptr);
  ::operator delete(block);
  return 0;
}
