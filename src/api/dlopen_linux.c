/* dlopen(3) without RTLD_DEEPBIND. A module that is opened with it looks for malloc and free in its
 * own libraries first, past a preloaded loam, and gives the C library's free blocks that others
 * have of loam, or the other way round. */
#include "api/allocate.h"
#include "api/aside.h"
#include "api/override.h"
#include "config/options.h"
#include "os/os.h"

#if LM_SHARED && LM_POSIX_NAMES && defined(__linux__)

#define DEEPBIND 8 /* glibc's; no other C library has it */

typedef void *open_function(const char *path, int flags);

static open_function *next_dlopen(void) {
  static _Atomic(uintptr_t) known; /* written by any thread, always the same */
  uintptr_t function = lm_load_relaxed(&known);
  if (function == 0) {
    function = (uintptr_t)lm_os_next_function("dlopen");
    lm_store_relaxed(&known, function);
  }
  return (open_function *)function;
}

/* The next one's call comes last, as a jump: it looks for libraries where the module of its caller
 * says. */
LM_EXPORT LM_JUMPS void *lm_dlopen(const char *path, int flags) __asm__("dlopen");
LM_EXPORT LM_JUMPS void *lm_dlopen(const char *path, int flags) {
  open_function *open = next_dlopen();
  if (open == NULL) return NULL;
  if (LM_OPTION(deepbind) == LM_DEEPBIND_DROP && !lm_is_listed()) flags &= ~DEEPBIND;
  LM_JUMP return open(path, flags);
}

#endif
