/* Destructors of thread_local objects run while the thread ends and still use the heap. */
#include "names.h"
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Late {
  std::vector<std::string> texts;
  ~Late() {
    for (int i = 0; i < 200; i++) texts.push_back(std::string(200 + i, 'x'));
    for (auto &text : texts) CHECK_EQ(text.back(), 'x');
    std::vector<std::unique_ptr<char[]>> blocks;
    for (size_t size = 1; size < 200000; size *= 3) blocks.emplace_back(new char[size]);
  }
};

static thread_local Late late;

int main() {
  for (int round = 0; round < 100; round++) {
    std::thread threads[4];
    for (auto &thread : threads)
      thread = std::thread([] { late.texts.push_back(std::string(1000, 'x')); });
    for (auto &thread : threads) thread.join();
  }
  return 0;
}
