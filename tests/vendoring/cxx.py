#!/usr/bin/env python3
"""memory_resource.hpp with the standard libraries of GCC and LLVM, and without exceptions."""
import os
import subprocess
import unittest

from support import ROOT, VendoringTest

PROGRAM = r"""
#include <loam/memory_resource.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>
#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)

struct alignas(64) Wide { char bytes[64]; };

// Block addresses tell whether loam has made them: it knows no other, and would end the program.
static bool is_loams(const void *block) {
  return loam_malloc_usable_size(const_cast<void *>(block)) != 0;
}

static int check_allocator() {
  std::vector<int, loam::allocator<int>> numbers(1000, 7);
  CHECK(is_loams(numbers.data()));
  for (int i = 0; i < 100000; i++) numbers.push_back(i);
  CHECK(numbers.back() == 99999 && numbers.front() == 7);
  std::map<int, std::string, std::less<int>,
           loam::allocator<std::pair<const int, std::string>>> names;
  for (int i = 0; i < 1000; i++) names[i] = std::to_string(i);
  CHECK(names.at(999) == "999");
  std::vector<Wide, loam::allocator<Wide>> wide(3);
  CHECK(reinterpret_cast<std::uintptr_t>(wide.data()) % 64 == 0);
  loam::allocator<int> a;
  loam::allocator<long> b(a);
  CHECK(a == b && !(a != b));
  std::list<int, loam::allocator<int>> moved(5, 1), target(a);
  target = std::move(moved);
  CHECK(target.size() == 5);
#if defined(__cpp_exceptions)
  bool thrown = false;
  try { (void)a.allocate(SIZE_MAX / 2); }
  catch (const std::bad_array_new_length &) { thrown = true; }
  CHECK(thrown);
  thrown = false;
  try { (void)loam::allocator<char>().allocate(SIZE_MAX / 2 + 2); }
  catch (const std::bad_alloc &) { thrown = true; }
  CHECK(thrown);
#endif
  return 0;
}

#if defined(__cpp_lib_memory_resource)
static int check_resource() {
  loam::memory_resource other;
  CHECK(*loam::resource() == *loam::resource() && other != *std::pmr::new_delete_resource());
#if defined(__cpp_rtti)
  CHECK(*loam::resource() == other);
#endif
  std::pmr::vector<std::pmr::string> words{loam::resource()};
  for (int i = 0; i < 10000; i++)
    words.emplace_back("a word that is too long to stand in the string itself");
  CHECK(is_loams(words.data()) && is_loams(words[5000].data()));
  std::thread([&words] { words.clear(); words.shrink_to_fit(); }).join();
  void *block = other.allocate(100, 4096);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % 4096 == 0);
  loam::resource()->deallocate(block, 100, 4096);
  return 0;
}

// What a heap has in use: blocks and bytes.
struct Use { std::size_t blocks = 0, bytes = 0; };
static Use use_of(loam::heap &heap) {
  Use use;
  heap.visit([&use](void *, std::size_t size, bool in_use) {
    if (in_use) use.blocks++, use.bytes += size;
  });
  return use;
}

static int check_heap() {
  loam::heap heap, other;
  CHECK(heap == heap && heap != other && heap != *loam::resource());
  {
    std::pmr::vector<std::pmr::string> words{&heap};
    for (int i = 0; i < 1000; i++)
      words.emplace_back("a word that is too long to stand in the string itself");
    CHECK(use_of(heap).blocks == 1001 && use_of(other).blocks == 0);
    std::thread([&words] { words.clear(); }).join();
    CHECK(use_of(heap).blocks == 1);
  }
  CHECK(use_of(heap).blocks == 0);
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2)
    CHECK(reinterpret_cast<std::uintptr_t>(heap.allocate(100, alignment)) % alignment == 0);
  (void)heap.allocate(50 << 20);
  CHECK(use_of(heap).blocks == 18 && use_of(heap).bytes > (50 << 20));
  heap.release();
  CHECK(use_of(heap).blocks == 0);
  void *block = loam_heap_malloc(heap.handle(), 100);
  CHECK(use_of(heap).blocks == 1);
  heap.deallocate(block, 100);
  CHECK(use_of(heap).blocks == 0);
#if defined(__cpp_exceptions)
  volatile std::size_t too_many = SIZE_MAX / 2 + 2; // the compiler would warn
  try { (void)heap.allocate(too_many); return __LINE__; }
  catch (const std::bad_alloc &) {}
  try { loam::heap incomplete{loam_page_provider{}}; return __LINE__; }
  catch (const std::invalid_argument &error) {
    CHECK(std::strcmp(error.what(),
                      "loam::heap: the page provider has no reserve or no release") == 0);
  }
#endif
  return 0;
}

// A provider that takes memory from aligned_alloc, and counts what is reserved.
static void *reserve(void *context, std::size_t size, std::size_t alignment) {
  ++*static_cast<int *>(context);
  void *memory = std::aligned_alloc(alignment, size);
  if (memory != nullptr) std::memset(memory, 0, size);
  return memory;
}
static void release(void *context, void *address, std::size_t) {
  --*static_cast<int *>(context);
  std::free(address);
}

static int check_heap_with_provider() {
  int reservations = 0;
  {
    loam::heap heap{loam_page_provider{reserve, nullptr, nullptr, release, &reservations}};
    CHECK(reservations == 0);
    std::pmr::vector<int> numbers(100000, 7, &heap);
    CHECK(reservations == 1 && numbers.back() == 7);
  }
  CHECK(reservations == 0);
  return 0;
}
#endif

int main() {
  if (int line = check_allocator()) return line;
#if defined(__cpp_lib_memory_resource)
  if (int line = check_resource()) return line;
  if (int line = check_heap()) return line;
  if (int line = check_heap_with_provider()) return line;
#elif defined(EXPECT_RESOURCE)
#error "this library should have std::pmr"
#endif
  return 0;
}
"""


class Cxx(VendoringTest):
    @classmethod
    def setUpClass(cls):
        cls.loam = os.path.join(cls.shared_folder(), "loam.o")
        subprocess.run(["gcc", "-std=gnu11", "-O0", "-DLOAM_NO_OVERRIDE", f"-I{ROOT}/src",
                        f"-I{ROOT}/include", "-c", os.path.join(ROOT, "src", "loam.c"),
                        "-o", cls.loam], check=True)

    def setUp(self):
        super().setUp()
        self.source = self.write("program.cpp", PROGRAM)

    def check(self, *command):
        program = self.path("program")
        self.succeed(*command, "-Wall", "-Wextra", f"-I{ROOT}/include", self.source, self.loam,
                     "-o", program, "-pthread")
        self.succeed(program)

    def test_libstdcxx(self):
        self.check("g++", "-std=c++17", "-DEXPECT_RESOURCE")
        self.check("g++", "-std=c++20", "-fno-rtti", "-fno-exceptions")

    def test_example_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "vendoring.md"), encoding="utf-8") as file:
            section = file.read().partition("\n## C++\n")[2]
        lines = [line for line in section.splitlines() if line.startswith("    ")]
        self.write("program.cpp", "\n".join(lines) + "\n")
        self.check("g++", "-std=c++17")

    def test_libcxx(self):
        # Debian's default libc++ has no std::pmr yet; this is the first that has.
        folder = "/usr/lib/llvm-16"
        libcxx = ("clang++", "-nostdinc++", "-isystem", folder + "/include/c++/v1",
                  "-nostdlib++", "-Wl,-rpath," + folder + "/lib", "-L" + folder + "/lib")
        self.check(*libcxx, "-std=c++17", "-DEXPECT_RESOURCE", "-Wl,--no-as-needed,-lc++")
        self.check(*libcxx, "-std=c++11", "-Wl,--no-as-needed,-lc++")


if __name__ == "__main__":
    unittest.main()
