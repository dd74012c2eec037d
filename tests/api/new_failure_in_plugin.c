/* A program in C opens a plugin in C++ for itself alone, so that nobody else sees the C++ runtime:
 * operator new throws, asks new-handlers, and its nothrow forms return null, as anywhere. */
#include "names.h"

#include <dlfcn.h>
#include <stdbool.h>

enum { FORMS = 4, RETURNED_NULL = 0, THREW_BAD_ALLOC = 2 };

static int (*plugin_new)(int form);
static int (*plugin_new_nothrow)(int form);
static int (*plugin_new_elsewhere)(void *(*callback)(size_t size));
static void (*plugin_set_handler)(bool throws);
static int (*plugin_handler_calls)(void);

static void *(*operator_new)(size_t size);

/* A call whose caller's module sees no C++ runtime. */
static void *call_operator_new(size_t size) {
  return opaque(operator_new(size));
}

static void *find(void *plugin, const char *name) {
  void *function = dlsym(plugin, name);
  CHECK(function != NULL);
  return function;
}

static void find_all(void *plugin) {
  plugin_new = (int (*)(int))find(plugin, "plugin_new");
  plugin_new_nothrow = (int (*)(int))find(plugin, "plugin_new_nothrow");
  plugin_new_elsewhere = (int (*)(void *(*)(size_t)))find(plugin, "plugin_new_elsewhere");
  plugin_set_handler = (void (*)(bool))find(plugin, "plugin_set_handler");
  plugin_handler_calls = (int (*)(void))find(plugin, "plugin_handler_calls");
}

int main(void) {
  CHECK(dlsym(RTLD_DEFAULT, "__cxa_throw") == NULL); /* or nothing is tested */
  void *plugin = dlopen(TEST_BIN "/cxx_plugin.so", RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(plugin != NULL);
  find_all(plugin);
  for (int form = 0; form < FORMS; form++) {
    CHECK_EQ(plugin_new(form), THREW_BAD_ALLOC);
    CHECK_EQ(plugin_new_nothrow(form), RETURNED_NULL);
    for (int throws = 0; throws <= 1; throws++) {
      plugin_set_handler(throws);
      CHECK_EQ(plugin_new(form), THREW_BAD_ALLOC);
      CHECK_EQ(plugin_handler_calls(), throws ? 1 : 3);
      plugin_set_handler(throws);
      CHECK_EQ(plugin_new_nothrow(form), RETURNED_NULL);
      CHECK_EQ(plugin_handler_calls(), throws ? 1 : 3);
    }
    plugin_set_handler(false);
    plugin_new(form); /* the handler takes itself away */
  }
  operator_new = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
  if (operator_new != NULL)
    CHECK_EQ(plugin_new_elsewhere(call_operator_new), THREW_BAD_ALLOC);
  return 0;
}
