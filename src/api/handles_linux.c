/* dlsym(3) and dlvsym. Who has a handle of the C library (ctypes, P/Invoke, JNA, LuaJIT's ffi)
 * finds its free and malloc_trim past a preloaded loam, and gives them blocks of loam's. So where
 * the next dlsym finds the C library's, the answer is loam's function of that name. Answers that
 * depend on the caller's module are left as they are. */
#include <dlfcn.h>
#include <string.h>

#include "api/aside.h"
#include "config/options.h"
#include "loam/loam.h"
#include "os/os.h"

#if LM_STEPS_ASIDE

static const struct {
  const char *name;
  void *function;
} family[] = {
    {"malloc", (void *)lm_own_malloc},
    {"free", (void *)lm_own_free},
    {"calloc", (void *)lm_own_calloc},
    {"realloc", (void *)lm_own_realloc},
    {"reallocarray", (void *)loam_reallocarray},
    {"aligned_alloc", (void *)loam_aligned_alloc},
    {"posix_memalign", (void *)loam_posix_memalign},
    {"free_sized", (void *)loam_free_sized},
    {"free_aligned_sized", (void *)loam_free_aligned_sized},
    {"memalign", (void *)loam_memalign},
    {"valloc", (void *)loam_valloc},
    {"pvalloc", (void *)loam_pvalloc},
    {"malloc_usable_size", (void *)lm_own_malloc_usable_size},
    {"malloc_trim", (void *)loam_malloc_trim},
    {"malloc_stats", (void *)loam_malloc_stats},
    {"malloc_info", (void *)loam_malloc_info},
    {"mallopt", (void *)loam_mallopt},
    {"mallinfo2", (void *)loam_mallinfo2},
    {"mallinfo", (void *)loam_mallinfo},
    {"__libc_malloc", (void *)lm_own_malloc},
    {"__libc_free", (void *)lm_own_free},
    {"__libc_calloc", (void *)lm_own_calloc},
    {"__libc_realloc", (void *)lm_own_realloc},
    {"__libc_memalign", (void *)loam_memalign},
    {"__libc_valloc", (void *)loam_valloc},
    {"__libc_pvalloc", (void *)loam_pvalloc},
    {"__libc_mallopt", (void *)loam_mallopt},
    {"__libc_mallinfo", (void *)loam_mallinfo},
    {"__posix_memalign", (void *)loam_posix_memalign},
    {"__libc_reallocarray", (void *)loam_reallocarray},
};

static void *answer(const char *name, void *found) {
  bool keeps = LM_OPTION(libc_handle) == LM_LIBC_HANDLE_LIBC || lm_is_listed();
  if (found == NULL || keeps || !lm_os_is_of_libc(found)) return found;
  for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
    if (name[0] == family[i].name[0] && strcmp(name, family[i].name) == 0)
      return family[i].function;
  return found;
}

/* The answer is found from where the caller stands: the next one's call comes last, as a jump. */
static bool depends_on_caller(const void *handle) {
  return handle == RTLD_NEXT || handle == RTLD_DEFAULT;
}

static void *next_function(_Atomic(uintptr_t) *known, const char *name) {
  uintptr_t function = lm_load_relaxed(known);
  if (function == 0) {
    function = (uintptr_t)lm_os_other_definition(name);
    lm_store_relaxed(known, function);
  }
  return (void *)function;
}

static _Atomic(uintptr_t) next_dlsym, next_dlvsym; /* written by any thread, always the same */

LM_EXPORT void *lm_dlsym(void *handle, const char *name) __asm__("dlsym");
LM_EXPORT void *lm_dlsym(void *handle, const char *name) {
  void *(*next)(void *, const char *) =
      (void *(*)(void *, const char *))next_function(&next_dlsym, "dlsym");
  if (next == NULL) return NULL;
  if (depends_on_caller(handle)) return next(handle, name);
  return answer(name, next(handle, name));
}

LM_EXPORT void *lm_dlvsym(void *handle, const char *name, const char *version) __asm__("dlvsym");
LM_EXPORT void *lm_dlvsym(void *handle, const char *name, const char *version) {
  void *(*next)(void *, const char *, const char *) =
      (void *(*)(void *, const char *, const char *))next_function(&next_dlvsym, "dlvsym");
  if (next == NULL) return NULL;
  if (depends_on_caller(handle)) return next(handle, name, version);
  return answer(name, next(handle, name, version));
}

#endif
