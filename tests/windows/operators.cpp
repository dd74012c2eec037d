/* C++ with a static library: new, delete and containers are on loam, in threads, with exceptions. */
#include "check.h"
#include <loam/loam.h>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(256) Wide {
  char bytes[300];
};

template <typename T> static T *own(T *object) {
  CHECK_THAT(loam_malloc_usable_size(object), >, 0);
  CHECK(loam_realloc(object, loam_malloc_usable_size(object)) == object);
  return object;
}

static void fill_containers() {
  std::map<int, std::string> texts;
  for (int i = 0; i < 3000; i++) texts[i * 7 % 1000] += std::string(static_cast<size_t>(i % 90), 'x');
  thread_local std::vector<std::unique_ptr<int>> numbers; /* freed at the thread's end */
  for (int i = 0; i < 100; i++) numbers.push_back(std::make_unique<int>(i));
  CHECK_EQ(texts.size(), 1000);
}

int main() {
  delete own(new int(1));
  delete[] own(new char[10000]);
  Wide *wide = new Wide;
  CHECK_EQ(reinterpret_cast<uintptr_t>(wide) % 256, 0);
  delete wide;
  bool thrown = false;
  try {
    opaque(new char[opaque_size(PTRDIFF_MAX - 100)]);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(opaque(new (std::nothrow) char[opaque_size(PTRDIFF_MAX - 100)]) == nullptr);
  for (int round = 0; round < 3; round++) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++) threads.emplace_back(fill_containers);
    for (std::thread &thread : threads) thread.join();
  }
  return 0;
}
