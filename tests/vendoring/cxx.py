#!/usr/bin/env python3
"""memory_resource.hpp with the standard libraries of GCC and LLVM, and without exceptions."""
import os
import unittest

from support import ROOT, VendoringTest

PROGRAM = r"""
#include <loam/memory_resource.hpp>
#include <cstdint>
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
#endif

int main() {
  if (int line = check_allocator()) return line;
#if defined(__cpp_lib_memory_resource)
  if (int line = check_resource()) return line;
#elif defined(EXPECT_RESOURCE)
#error "this library should have std::pmr"
#endif
  return 0;
}
"""


class Cxx(VendoringTest):
    def setUp(self):
        super().setUp()
        self.source = self.write("program.cpp", PROGRAM)
        self.loam = self.path("loam.o")
        self.succeed("gcc", "-std=gnu11", "-O1", "-DLOAM_NO_OVERRIDE", f"-I{ROOT}/src",
                     f"-I{ROOT}/include", "-c", os.path.join(ROOT, "src", "loam.c"),
                     "-o", self.loam)

    def check(self, *command):
        program = self.path("program")
        self.succeed(*command, "-Wall", "-Wextra", f"-I{ROOT}/include", self.source, self.loam,
                     "-o", program, "-pthread")
        self.succeed(program)

    def test_libstdcxx(self):
        self.check("g++", "-std=c++17", "-DEXPECT_RESOURCE")
        self.check("g++", "-std=c++20", "-fno-rtti", "-fno-exceptions")

    def test_libcxx(self):
        # Debian's default libc++ has no std::pmr yet; this is the first that has.
        folder = "/usr/lib/llvm-16"
        libcxx = ("clang++", "-nostdinc++", "-isystem", folder + "/include/c++/v1",
                  "-nostdlib++", "-Wl,-rpath," + folder + "/lib", "-L" + folder + "/lib")
        self.check(*libcxx, "-std=c++17", "-DEXPECT_RESOURCE", "-Wl,--no-as-needed,-lc++")
        self.check(*libcxx, "-std=c++11", "-Wl,--no-as-needed,-lc++")


if __name__ == "__main__":
    unittest.main()
