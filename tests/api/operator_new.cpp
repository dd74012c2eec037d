/* Every form of operator new and delete is replaced, and all of them match malloc and free. */
#include "names.h"
#include <initializer_list>
#include <new>

static void *check_block(void *block, size_t size, size_t alignment) {
  block = opaque(block);
  CHECK(block != nullptr);
  CHECK_EQ((uintptr_t)block % alignment, 0);
  CHECK_THAT(malloc_usable_size(block), >=, size);
  memset(block, 0x5a, size);
  return block;
}

static void check_plain(size_t size) {
  const std::nothrow_t &quiet = std::nothrow;
  ::operator delete(check_block(::operator new(size), size, 16));
  ::operator delete(check_block(::operator new(size), size, 16), size);
  ::operator delete(check_block(::operator new(size, quiet), size, 16), quiet);
  ::operator delete[](check_block(::operator new[](size), size, 16));
  ::operator delete[](check_block(::operator new[](size), size, 16), size);
  ::operator delete[](check_block(::operator new[](size, quiet), size, 16), quiet);
  if (strcmp(test_build(), "checking") == 0) return; /* which tells their blocks apart */
  free(check_block(::operator new(size), size, 16));
  ::operator delete(check_block(malloc(size), size, 16));
}

static void check_aligned(size_t size, size_t alignment) {
  const std::nothrow_t &quiet = std::nothrow;
  std::align_val_t align{alignment};
  ::operator delete(check_block(::operator new(size, align), size, alignment), align);
  ::operator delete(check_block(::operator new(size, align), size, alignment), size, align);
  ::operator delete(check_block(::operator new(size, align, quiet), size, alignment), align,
                    quiet);
  ::operator delete[](check_block(::operator new[](size, align), size, alignment), align);
  ::operator delete[](check_block(::operator new[](size, align), size, alignment), size, align);
  ::operator delete[](check_block(::operator new[](size, align, quiet), size, alignment), align,
                      quiet);
}

struct alignas(256) Wide {
  char bytes[256];
};

int main() {
  for (size_t size : {0, 1, 16, 100, 1000, 33000, 100000, 5000000}) {
    for (int round = 0; round < 20; round++) check_plain(size);
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2)
      check_aligned(size, alignment);
  }
  ::operator delete(opaque(nullptr));
  ::operator delete[](opaque(nullptr));
  delete static_cast<Wide *>(check_block(new Wide, sizeof(Wide), 256));
  delete[] static_cast<Wide *>(check_block(new Wide[3], 3 * sizeof(Wide), 256));
  return 0;
}
