# A C++ program with exceptions, threads and all operators, built here by the first run.
cat > program.cpp <<'CPP'
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct alignas(128) Wide { double values[16]; };

static long throw_deep(int depth) {
  std::string local(100 + depth, 'x');
  if (depth == 0) throw std::runtime_error(local + " is thrown");
  try {
    return throw_deep(depth - 1);
  } catch (const std::logic_error &) {
    return 0;
  }
}

static long work(int seed) {
  std::map<std::string, std::vector<int>> ordered;
  std::unordered_map<int, std::unique_ptr<Wide>> wide;
  long caught = 0;
  for (int i = 0; i < 4000; i++) {
    ordered["key " + std::to_string((i * 37 + seed) % 911)].push_back(i);
    if (i % 3 == 0) wide[i % 501] = std::make_unique<Wide>();
    if (i % 50 == 0) {
      try {
        throw_deep(20);
      } catch (const std::exception &error) {
        caught += (long)std::string(error.what()).size();
      }
    }
  }
  long sum = caught + (long)wide.size();
  for (auto &[key, values] : ordered)
    sum += (long)key.size() + std::accumulate(values.begin(), values.end(), 0L);
  return sum;
}

int main() {
  std::vector<std::future<long>> results;
  for (int i = 0; i < 16; i++) results.push_back(std::async(std::launch::async, work, i));
  for (auto &result : results) std::cout << result.get() << "\n";
  std::string text;
  for (int i = 0; i < 3000; i++) text += "word" + std::to_string(i % 100) + ", ";
  std::regex pattern("w(o)rd(\\d+)");
  std::cout << std::regex_replace(text, pattern, "$2$1").size() << "\n";
  try {
    std::vector<char> impossible(~0ull >> 2);
  } catch (const std::bad_alloc &) {
    std::cout << "bad_alloc\n";
  }
  std::exception_ptr carried;
  std::thread([&] { try { throw_deep(3); } catch (...) { carried = std::current_exception(); } })
      .join();
  try {
    std::rethrow_exception(carried);
  } catch (const std::runtime_error &error) {
    std::cout << error.what() << "\n";
  }
  std::stringstream stream;
  for (int i = 0; i < 100000; i++) stream << i << ' ';
  std::cout << stream.str().size() << std::endl;
}
CPP
test -e "$KEPT/program" || LD_PRELOAD= g++ -std=c++17 -O1 -pthread program.cpp -o "$KEPT/program"
"$KEPT/program"
