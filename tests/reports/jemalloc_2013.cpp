// builds: fast hardened linked static
/* Programs that put an object at the start of a larger block of operator new and delete it as the
 * object, with its size: jemalloc 2013, rclcpp 2220. They go on, and all of the block is free. */
#include "check.h"

#include <malloc.h>
#include <new>
#include <string.h>

struct few { long words[1]; };
struct more { long words[40]; };

static size_t in_use() { return mallinfo2().uordblks; }

template <class type> static void take_and_delete(size_t room) {
  type *object = new (::operator new(sizeof(type) + room)) type;
  memset(static_cast<void *>(object), 1, sizeof(type) + room);
  delete object;
}

template <class type> static void often(size_t room) {
  for (int i = 0; i < 1000; i++) take_and_delete<type>(room);
}

int main() {
  static const size_t rooms[] = {1, 16, 100, 120, 200, 400, 5000, 40000, 400000, 40000000};
  size_t before = in_use();
  for (size_t room : rooms) {
    often<few>(room);
    often<more>(room);
  }
  CHECK(in_use() < before + (16 << 20));
  return 0;
}
