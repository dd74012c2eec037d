/* When memory is out, operator new calls the new-handler as long as there is one, then throws
 * std::bad_alloc; the nothrow forms return null. */
#include "names.h"
#include <initializer_list>
#include <new>

static int handler_calls;

static void handler_that_gives_up() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}

struct Stop {};
static void handler_that_throws() { throw Stop(); }

/* What `call` does: 0 returned null, 1 gave a block, 2 threw bad_alloc, 3 threw Stop. */
template <class Call> static int outcome(Call call) {
  try {
    void *block = opaque(call());
    int result = block != nullptr;
    free(block);
    return result;
  } catch (const std::bad_alloc &) {
    return 2;
  } catch (const Stop &) {
    return 3;
  }
}

template <class Call> static void check_throwing(Call call) {
  CHECK_EQ(outcome(call), 2);
  handler_calls = 0;
  std::set_new_handler(handler_that_gives_up);
  CHECK_EQ(outcome(call), 2);
  CHECK_EQ(handler_calls, 3);
  std::set_new_handler(handler_that_throws);
  CHECK_EQ(outcome(call), 3);
  std::set_new_handler(nullptr);
}

template <class Call> static void check_nothrow(Call call) {
  CHECK_EQ(outcome(call), 0);
  handler_calls = 0;
  std::set_new_handler(handler_that_gives_up);
  CHECK_EQ(outcome(call), 0);
  CHECK_EQ(handler_calls, 3);
}

int main() {
  std::align_val_t align{4096};
  for (size_t size : {BEYOND_ALL_MEMORY, SIZE_MAX - 5}) {
    check_throwing([=] { return ::operator new(opaque_size(size)); });
    check_throwing([=] { return ::operator new[](opaque_size(size)); });
    check_throwing([=] { return ::operator new(opaque_size(size), align); });
    check_throwing([=] { return ::operator new[](opaque_size(size), align); });
    check_nothrow([=] { return ::operator new(opaque_size(size), std::nothrow); });
    check_nothrow([=] { return ::operator new[](opaque_size(size), std::nothrow); });
    check_nothrow([=] { return ::operator new(opaque_size(size), align, std::nothrow); });
    check_nothrow([=] { return ::operator new[](opaque_size(size), align, std::nothrow); });
  }
  return 0;
}
