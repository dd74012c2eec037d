// loam for C++ containers: a std::pmr::memory_resource (C++17), an allocator template, and
// first-class heaps as resources (C++17).
//
//     std::pmr::vector<int> numbers{loam::resource()};
//     std::vector<int, loam::allocator<int>> others;
//     loam::heap heap;
//     std::pmr::vector<int> numbers_of_a_request{&heap};
//
// All need loam.h's functions only, not the malloc replacement: link loam::loam, loam::shared or
// loam.c. Memory that runs out is a std::bad_alloc; without exceptions the program is ended.
//
// License: MIT OR Apache-2.0
#ifndef LOAM_MEMORY_RESOURCE_HPP
#define LOAM_MEMORY_RESOURCE_HPP

#include "loam.h"

#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#if defined(__has_include)
#if __has_include(<memory_resource>) && __cplusplus >= 201703L
#include <memory_resource>
#endif
#endif

namespace loam {

namespace detail {

[[noreturn]] inline void throw_out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::terminate();
#endif
}

// A block; every block has the alignment 16.
inline void *allocate(std::size_t bytes, std::size_t alignment) {
  void *block = alignment <= 16 ? loam_malloc(bytes) : loam_aligned_alloc(alignment, bytes);
  if (block == nullptr) throw_out_of_memory();
  return block;
}

} // namespace detail

// A stateless allocator, [allocator.requirements]. All of its kind are equal: what one has
// allocated another may give back, in any thread.
template <class T>
class allocator {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U> &) noexcept {}

  // Memory for `count` objects, not constructed. Throws std::bad_alloc; std::bad_array_new_length
  // if that many cannot exist.
  T *allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw_too_many();
    return static_cast<T *>(detail::allocate(count * sizeof(T), alignof(T)));
  }

  void deallocate(T *block, std::size_t) noexcept { loam_free(block); }

 private:
  [[noreturn]] static void throw_too_many() {
#if defined(__cpp_exceptions)
    throw std::bad_array_new_length();
#else
    std::terminate();
#endif
  }
};

template <class T, class U>
constexpr bool operator==(const allocator<T> &, const allocator<U> &) noexcept {
  return true;
}
template <class T, class U>
constexpr bool operator!=(const allocator<T> &, const allocator<U> &) noexcept {
  return false;
}

#if defined(__cpp_lib_memory_resource)

// Every block directly from loam, [mem.res.class]. Any thread may use it.
class memory_resource final : public std::pmr::memory_resource {
  void *do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::allocate(bytes, alignment);
  }
  void do_deallocate(void *block, std::size_t, std::size_t) override { loam_free(block); }
  // Blocks of one may be given back to another.
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
    return this == &other || is_loams(other);
  }
  static bool is_loams(const std::pmr::memory_resource &other) noexcept {
#if defined(__cpp_rtti)
    return dynamic_cast<const memory_resource *>(&other) != nullptr;
#else
    (void)other; // then only the same object is equal
    return false;
#endif
  }
};

// A first-class heap, with the rules of loam.h: memory of its own for what belongs together, all of
// which goes back at once when the heap ends. Any number of threads may use it, one at a time works
// in it, and others wait. Blocks may be given back one by one before, by any thread. Objects that
// are left are not destroyed, only their memory is gone: a container must have ended before, or
// must not be touched again, not even to end. Neither copied nor moved: containers point to it.
class heap final : public std::pmr::memory_resource {
 public:
  // Throws std::bad_alloc if there is no memory for a heap.
  heap() : heap_(loam_heap_new()) { check(); }

  // All memory for blocks comes from the provider, which is copied. Throws std::invalid_argument if
  // its `reserve` or its `release` is null.
  explicit heap(const loam_page_provider &provider)
      : heap_(is_complete(provider) ? loam_heap_new_with_provider(&provider) : nullptr) {
    check();
  }

  heap(const heap &) = delete;
  heap &operator=(const heap &) = delete;

  // No other thread may be using the heap.
  ~heap() override { loam_heap_destroy(heap_); }

  // Gives all blocks back at once, as loam_heap_free_all; the heap can be used again.
  void release() noexcept { loam_heap_free_all(heap_); }

  // Calls `visitor(void *block, std::size_t size, bool in_use)` for each block, as loam_heap_visit:
  // nobody may use the heap meanwhile, the visitor neither. An exception ends the program.
  template <class Visitor>
  void visit(Visitor visitor) {
    auto call = [](void *context, void *block, std::size_t size, int in_use) noexcept {
      (*static_cast<Visitor *>(context))(block, size, in_use != 0);
    };
    loam_heap_visit(heap_, call, std::addressof(visitor));
  }

  // For the functions loam_heap_*.
  loam_heap *handle() const noexcept { return heap_; }

 private:
  void *do_allocate(std::size_t bytes, std::size_t alignment) override {
    void *block = alignment <= 16 ? loam_heap_malloc(heap_, bytes)
                                  : loam_heap_memalign(heap_, alignment, bytes);
    if (block == nullptr) detail::throw_out_of_memory();
    return block;
  }
  void do_deallocate(void *block, std::size_t, std::size_t) override {
    loam_heap_free(heap_, block);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
    return this == &other;
  }

  void check() const {
    if (heap_ == nullptr) detail::throw_out_of_memory();
  }
  static bool is_complete(const loam_page_provider &provider) {
    if (provider.reserve != nullptr && provider.release != nullptr) return true;
#if defined(__cpp_exceptions)
    throw std::invalid_argument("loam::heap: the page provider has no reserve or no release");
#else
    std::terminate();
#endif
  }

  loam_heap *heap_;
};

// One resource for the whole program; it is never destroyed, since containers may outlive main.
inline memory_resource *resource() noexcept {
  static union holder {
    memory_resource value;
    holder() : value() {}
    ~holder() {}
  } held;
  return &held.value;
}

#endif // __cpp_lib_memory_resource

} // namespace loam

#endif // LOAM_MEMORY_RESOURCE_HPP
