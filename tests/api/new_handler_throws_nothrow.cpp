// builds: fast checking linked
/* A new-handler that throws bad_alloc makes the nothrow forms return null: they throw nothing. */
#include "names.h"
#include <new>

static int handler_calls;

static void handler_that_throws() {
  handler_calls++;
  throw std::bad_alloc();
}

int main() {
  std::size_t size = opaque_size(BEYOND_ALL_MEMORY);
  std::set_new_handler(handler_that_throws);
  CHECK(::operator new(size, std::nothrow) == nullptr);
  CHECK(::operator new[](size, std::nothrow) == nullptr);
  CHECK(::operator new(size, std::align_val_t{256}, std::nothrow) == nullptr);
  CHECK(::operator new[](size, std::align_val_t{256}, std::nothrow) == nullptr);
  CHECK_EQ(handler_calls, 4);
  return 0;
}
