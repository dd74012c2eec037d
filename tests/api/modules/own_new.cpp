/* A library with a C++ runtime inside that it exports, and that it calls itself whatever stands before it. */
#include <cstdlib>
#include <new>

extern "C" __attribute__((visibility("hidden"))) void *new_of_library(std::size_t size) { return std::malloc(size); }
extern "C" __attribute__((visibility("hidden"))) void delete_of_library(void *block) { std::free(block); }

void *operator new(std::size_t size) { return new_of_library(size); }
void operator delete(void *block) noexcept { delete_of_library(block); }
void operator delete(void *block, std::size_t) noexcept { delete_of_library(block); }

extern "C" void *object_of_library() { return new_of_library(100); }
extern "C" void object_to_library(void *object) { delete_of_library(object); }
