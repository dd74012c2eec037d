/* C++ in a static program: containers in threads, static and thread_local objects, std::bad_alloc
 * thrown and caught, a new-handler, and the form of new that returns null. */
#include "check.h"
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

static std::map<std::string, std::string> early = {{"key", std::string(100, 'v')}};
static thread_local std::unique_ptr<std::string> of_thread;
static int handled;

static void fill_map() {
  std::map<int, std::string> map;
  for (int i = 0; i < 20000; i++) map[i * 7919 % 20000] = std::string(i % 200, 'x');
  CHECK_EQ(map[7919 % 20000].size(), 1);
  of_thread.reset(new std::string(map[5]));
}

int main() {
  CHECK_EQ(early["key"].size(), 100);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back(fill_map);
  for (auto &thread : threads) thread.join();

  size_t too_much = opaque_size(SIZE_MAX / 4);
  CHECK(opaque(new (std::nothrow) char[too_much]) == nullptr);
  bool caught = false;
  std::set_new_handler([] {
    handled++;
    std::set_new_handler(nullptr);
  });
  try {
    opaque(new char[too_much]);
  } catch (const std::bad_alloc &) {
    caught = true;
  }
  CHECK(caught);
  CHECK_EQ(handled, 1);
  struct alignas(256) Aligned { char bytes[300]; };
  auto aligned = std::make_unique<Aligned>();
  CHECK_EQ((uintptr_t)opaque(aligned.get()) % 256, 0);
  return 0;
}
