// builds: fast checking hardened
/* A program replaces operator new and delete alone, and puts a head before each object: every other form has to go
 * through them. */
#include "names.h"

#pragma GCC diagnostic ignored "-Wsized-deallocation" /* those are the C++ runtime's */

#include <new>
#include <string>
#include <vector>

static const size_t head_bytes = 32;
static long alive;

__attribute__((noinline)) void *operator new(size_t size) {
  if (size > MIB) throw std::bad_alloc();
  char *head = (char *)malloc(head_bytes + size);
  alive++;
  return head + head_bytes;
}

__attribute__((noinline)) void operator delete(void *object) noexcept {
  if (object == NULL) return;
  alive--;
  free((char *)object - head_bytes);
}

struct Large { char bytes[3 * MIB]; };

int main() {
  ::operator delete(opaque(new int(7)), sizeof(int));
  CHECK(alive == 0);
  ::operator delete(opaque(::operator new(100, std::nothrow)), std::nothrow);
  ::operator delete[](opaque(::operator new[](100)), (size_t)100);
  ::operator delete[](opaque(::operator new[](100, std::nothrow)), std::nothrow);
  ::operator delete(opaque(::operator new[](100)));
  ::operator delete[](opaque(::operator new(100)));
  CHECK(alive == 0);
  CHECK(opaque(new (std::nothrow) Large) == NULL);
  {
    std::vector<std::string> texts;
    for (int i = 0; i < 300; i++) texts.push_back(std::string(i, 'x'));
    auto *array = (std::string *)opaque(new std::string[20]);
    array[3] = texts[200];
    CHECK(alive > 100);
    delete[] array;
  }
  CHECK(alive == 0);
  return 0;
}
