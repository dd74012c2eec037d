#include "profile/python_find.h"

#include <string.h>

#include "base/atomic.h"
#include "os/os.h"

#if LM_READS_PYTHON

#define FIRST_MINOR 8
#define NO_FIELD LM_PYTHON_NO_FIELD
/* Of 3.8 and 3.9: the thread's state, a frame, a code object, texts. */
#define LAYOUT_OF_3_8 \
  {24, NO_FIELD, 176, \
   108, 24, 32, 104, NO_FIELD, NO_FIELD, \
   128, 40, 104, 112, 120, NO_FIELD, 1, LM_PYTHON_PAIRS, \
   48, 72}
static const struct lm_python_layout python_layouts[] = {
    LAYOUT_OF_3_8,
    LAYOUT_OF_3_8,
    {24, NO_FIELD, 176, /* 3.10 */
     100, 24, 32, 96, NO_FIELD, NO_FIELD,
     128, 40, 104, 112, 120, NO_FIELD, 2, LM_PYTHON_RANGES,
     48, 72},
    {56, 8, 152, /* 3.11 */
     70, 48, 32, 56, NO_FIELD, 68,
     144, 72, 112, 128, 136, 184, 0, LM_PYTHON_LOCATIONS,
     48, 72},
    {56, 0, 136, /* 3.12 */
     71, 8, 0, 56, 70, NO_FIELD,
     144, 68, 112, 128, 136, 192, 0, LM_PYTHON_LOCATIONS,
     40, 56},
    {72, NO_FIELD, 152, /* 3.13 */
     71, 8, 0, 56, 70, NO_FIELD,
     144, 68, 112, 128, 136, 200, 0, LM_PYTHON_LOCATIONS,
     40, 56},
};
#define LAYOUT_COUNT (sizeof python_layouts / sizeof *python_layouts)

enum { THIS_THREAD, CURRENT, CURRENT_OF_3_13, CODE_TYPE, TEXT_TYPE, BYTES_TYPE, RUNTIME, VERSION,
       NEW_IN_3_10, NEW_IN_3_9, NEW_IN_3_8, EXPORT_COUNT };
static const char *const python_exports[EXPORT_COUNT] = {
    "PyGILState_GetThisThreadState",
    "_PyThreadState_UncheckedGet",
    "PyThreadState_GetUnchecked",
    "PyCode_Type",
    "PyUnicode_Type",
    "PyBytes_Type",
    "_PyRuntime",
    "Py_Version",
    "PyIter_Send",
    "PyThreadState_GetFrame",
    "PyConfig_InitPythonConfig",
};

/* Minor versions from 3.11 on say it themselves. 0: it is another one. */
static unsigned minor_version(const uintptr_t *exports) {
  uint64_t version;
  if (exports[VERSION] != 0) {
    const void *at = (const void *)exports[VERSION];
    if (lm_os_read_memory(at, &version, sizeof version) != sizeof version) return 0;
    return version >> 24 == 3 ? version >> 16 & 0xff : 0;
  }
  if (exports[NEW_IN_3_10] != 0) return 10;
  if (exports[NEW_IN_3_9] != 0) return 9;
  return exports[NEW_IN_3_8] != 0 ? 8 : 0;
}

/* Built to run threads at once, its objects are others. It says so behind "xdebugpy" and a
 * version. */
static bool is_free_threaded(const uintptr_t *exports) {
  uint64_t head[3];
  const void *at = (const void *)exports[RUNTIME];
  return lm_os_read_memory(at, head, sizeof head) != sizeof head ||
         memcmp(head, "xdebugpy", 8) != 0 || head[2] != 0;
}

static struct lm_python the_python;
/* That one when it is complete. Stored with a release, which pairs with the acquire of others. */
static _Atomic(struct lm_python *) found_python;

static void take_if_python(const struct lm_os_met_module *module) {
  uintptr_t exports[EXPORT_COUNT];
  if (!lm_os_find_exports(module->start, python_exports, exports, EXPORT_COUNT)) return;
  unsigned minor = minor_version(exports);
  uintptr_t current = exports[minor < 13 ? CURRENT : CURRENT_OF_3_13];
  if (minor < FIRST_MINOR || minor - FIRST_MINOR >= LAYOUT_COUNT || current == 0 ||
      exports[CODE_TYPE] == 0 || exports[TEXT_TYPE] == 0 || exports[BYTES_TYPE] == 0 ||
      (minor >= 13 && is_free_threaded(exports)))
    return;
  the_python = (struct lm_python){
      .layout = &python_layouts[minor - FIRST_MINOR],
      .code_start = module->code_start,
      .code_end = module->code_end,
      .code_type = exports[CODE_TYPE],
      .text_type = exports[TEXT_TYPE],
      .bytes_type = exports[BYTES_TYPE],
      .this_thread = (const void *(*)(void))exports[THIS_THREAD],
      .current = (const void *(*)(void))current,
  };
  size_t bytes = sizeof the_python.remembered;
  const void *function = (const void *)exports[THIS_THREAD];
  if (lm_os_read_memory(function, the_python.remembered, bytes) != bytes) return;
  lm_store_release(&found_python, &the_python);
}

/* Looks at modules that stacks have led into since it was last looked for. */
const struct lm_python *lm_python_find(void) {
  static _Atomic(uint32_t) looked_count; /* of modules; written by whoever looks */
  const struct lm_python *python = lm_load_acquire(&found_python);
  if (LM_LIKELY(python != NULL)) return python;
  uint32_t looked = lm_load_relaxed(&looked_count), met = lm_os_modules_met();
  if (LM_LIKELY(looked == met) || !lm_cas_acquire(&looked_count, &looked, met)) return NULL;
  for (; looked != met && lm_load_relaxed(&found_python) == NULL; looked++) {
    struct lm_os_met_module module;
    if (lm_os_met_module(looked, &module)) take_if_python(&module);
  }
  return lm_load_acquire(&found_python);
}

bool lm_python_is_there(const struct lm_python *python) {
  uint8_t now[sizeof python->remembered];
  const void *function = (const void *)(uintptr_t)python->this_thread;
  return lm_os_read_memory(function, now, sizeof now) == sizeof now &&
         memcmp(now, python->remembered, sizeof now) == 0;
}

#endif
