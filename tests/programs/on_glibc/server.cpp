// A server of 32 threads: each fills a table with strings of many lengths, hands a third of them to its
// neighbour, and forgets most of the others. Then all wait.
#include <barrier>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <unistd.h>

namespace {

constexpr int THREADS = 32;
constexpr int KEYS = 40000;

struct Shard {
  std::unordered_map<int, std::unique_ptr<std::string>> table;
  std::vector<std::unique_ptr<std::string>> handed;
};

std::vector<Shard> shards(THREADS);
std::barrier together(THREADS + 1);

void serve(int index) {
  std::mt19937 random(index);
  std::lognormal_distribution<double> length(5.5, 1.0);
  auto &own = shards[index];
  for (int key = 0; key < KEYS; key++) {
    auto text = std::make_unique<std::string>(std::min(static_cast<int>(length(random)) + 8, 100000), 'x');
    if (key % 3 == 0)
      own.handed.push_back(std::move(text));
    else
      own.table.emplace(key, std::move(text));
  }
  together.arrive_and_wait();
  shards[(index + 1) % THREADS].handed.clear();
  std::erase_if(own.table, [&](const auto &) { return random() % 4 != 0; });
  together.arrive_and_wait();
  pause();
}

} // namespace

int main() {
  std::vector<std::thread> threads;
  for (int index = 0; index < THREADS; index++)
    threads.emplace_back(serve, index);
  together.arrive_and_wait();
  together.arrive_and_wait();
  std::puts("ready");
  std::fflush(stdout);
  pause();
}
