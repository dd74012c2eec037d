// builds: fast linked
/* A new-handler that releases memory lets operator new succeed after all. */
#include "names.h"
#include <new>
#include <sys/resource.h>

/* More than half of what may be mapped: there is no second one. */
static const size_t LIMIT = 1000 * MIB, RESERVE = 600 * MIB;
static void *reserve;

static void release_reserve() {
  CHECK(reserve != nullptr); /* called again: the memory did not come back */
  free(reserve);
  reserve = nullptr;
}

int main(int count, char **arguments) {
  if (count == 1) {
    struct rlimit limit = {LIMIT, LIMIT};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    execl("/proc/self/exe", arguments[0], "limited", (char *)nullptr);
    CHECK(!"exec");
  }
  reserve = opaque(malloc(RESERVE));
  CHECK(reserve != nullptr);
  std::set_new_handler(release_reserve);
  void *block = opaque(::operator new(RESERVE));
  CHECK(block != nullptr && reserve == nullptr);
  ::operator delete(block);
  return 0;
}
