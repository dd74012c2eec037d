// cargo, report 17487: a tool with an allocator of its own inside, preloaded with another one. Operators
// new and delete of the C++ runtime call malloc and free, which are the program's: so do those of a
// preloaded library, whatever their form.
#include "check.h"
#include "own_malloc.h"

#include <new>
#include <string>
#include <vector>

extern "C" {
void *malloc(size_t size) { return own_take(16, size); }
void *calloc(size_t count, size_t size) { return own_take(16, count * size); }
void *realloc(void *block, size_t size) { return own_resize(block, size); }
void free(void *block) { own_give(block); }
void *aligned_alloc(size_t alignment, size_t size) { return own_take(alignment, size); }
size_t malloc_usable_size(void *block) noexcept {
  if (!own_has(block)) own_foreign++;
  return own_has(block) ? own_size(block) : 0;
}
}

struct alignas(128) wide {
  char bytes[256];
};

static void check(void *block, size_t size) { CHECK(malloc_usable_size(block) >= size); }

int main() {
  for (size_t size = 1; size < 100000; size = size * 2 + 1) {
    check(operator new(size), size);
    check(operator new[](size), size);
    check(operator new(size, std::nothrow), size);
    check(operator new[](size, std::nothrow), size);
    ::operator delete(operator new(size));
    ::operator delete[](operator new[](size));
    ::operator delete(operator new(size), size);
    ::operator delete[](operator new[](size), std::nothrow);
    delete[] (char *)opaque(new char[size]);
  }
  wide *one = new wide, *some = new wide[3];
  CHECK((uintptr_t)one % 128 == 0 && own_has(one) && (uintptr_t)some % 128 == 0 && own_has(some));
  delete (wide *)opaque(one);
  delete[] some;
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; i++) texts.push_back(std::string((size_t)i, 'x'));
  texts.clear();
  CHECK(own_foreign == 0);
  return 0;
}
