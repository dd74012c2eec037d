/* A plugin in C++, for a program in C: what operator new does when memory is out. */
#define TEST_WITHOUT_LOAM
#include "check.h"
#include <new>

static volatile std::size_t too_large = BEYOND_ALL_MEMORY;
static const std::align_val_t align{4096};

/* What `call` does: 0 returned null, 1 gave a block, 2 threw bad_alloc, 3 threw anything else. */
template <class Call> static int outcome(Call call) {
  try {
    return call() != nullptr;
  } catch (const std::bad_alloc &) {
    return 2;
  } catch (...) {
    return 3;
  }
}

extern "C" int plugin_new(int form) {
  switch (form) {
  case 0: return outcome([] { return operator new(too_large); });
  case 1: return outcome([] { return operator new[](too_large); });
  case 2: return outcome([] { return operator new(too_large, align); });
  default: return outcome([] { return operator new[](too_large, align); });
  }
}

extern "C" int plugin_new_nothrow(int form) {
  switch (form) {
  case 0: return outcome([] { return operator new(too_large, std::nothrow); });
  case 1: return outcome([] { return operator new[](too_large, std::nothrow); });
  case 2: return outcome([] { return operator new(too_large, align, std::nothrow); });
  default: return outcome([] { return operator new[](too_large, align, std::nothrow); });
  }
}

/* The call comes from whoever has `callback`. */
extern "C" int plugin_new_elsewhere(void *(*callback)(std::size_t size)) {
  return outcome([=] { return callback(too_large); });
}

static int handler_calls;
static void give_up() {
  if (++handler_calls % 3 == 0) std::set_new_handler(nullptr);
}
static void throw_bad_alloc() {
  handler_calls++;
  throw std::bad_alloc();
}
extern "C" void plugin_set_handler(bool throws) {
  handler_calls = 0;
  std::set_new_handler(throws ? throw_bad_alloc : give_up);
}
extern "C" int plugin_handler_calls() { return handler_calls; }
