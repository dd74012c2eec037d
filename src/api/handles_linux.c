/* dlsym(3) and dlvsym. Who has a handle of the C library (ctypes, P/Invoke, JNA, LuaJIT's ffi)
 * finds its free and malloc_trim past loam, and gives them blocks of loam's. So where the next
 * dlsym finds the C library's, the answer is loam's function of that name. Answers that depend on
 * the caller's module are left as they are.
 *
 * A program that loam is linked into exports them, as it exports malloc: libraries find them there.
 * They are weak, as it may have its own. A library that loam is linked into answers so where its
 * malloc is the program's. */
#include <dlfcn.h>
#include <string.h>

#include "api/aside.h"
#include "config/options.h"
#include "loam/loam.h"
#include "os/os.h"

#if LM_POSIX_NAMES && defined(__linux__) && !LM_NO_DLSYM

#if LM_STEPS_ASIDE
#define DLSYM_BINDING
#define RETURN_OF_STATIC(function, ...)
static bool serves_process(void) { return !lm_is_listed(); }
#else
#define DLSYM_BINDING LM_WEAK
/* What dlsym calls in a static C library, glibc's or musl's; shared ones do not export it. */
extern void *__dlsym(void *handle, const char *name, void *caller) LM_WEAK;
extern void *__dlvsym(void *handle, const char *name, const char *version, void *caller) LM_WEAK;
#define RETURN_OF_STATIC(function, ...) \
  if (function != NULL) return function(__VA_ARGS__, LM_CALLER())
#define lm_own_malloc loam_malloc
#define lm_own_free loam_free
#define lm_own_calloc loam_calloc
#define lm_own_realloc loam_realloc
#define lm_own_malloc_usable_size loam_malloc_usable_size
static bool serves_process(void) { return lm_os_is_looked_up_here("malloc"); }
#endif

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
  if (found == NULL || LM_OPTION(libc_handle) == LM_LIBC_HANDLE_LIBC || !lm_os_is_of_libc(found))
    return found;
  for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
    if (name[0] == family[i].name[0] && strcmp(name, family[i].name) == 0)
      return serves_process() ? family[i].function : found;
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

DLSYM_BINDING LM_EXPORT LM_JUMPS void *lm_dlsym(void *handle, const char *name) __asm__("dlsym");
DLSYM_BINDING LM_EXPORT LM_JUMPS void *lm_dlsym(void *handle, const char *name) {
  RETURN_OF_STATIC(__dlsym, handle, name);
  void *(*next)(void *, const char *) =
      (void *(*)(void *, const char *))next_function(&next_dlsym, "dlsym");
  if (next == NULL) return NULL;
  if (depends_on_caller(handle)) LM_JUMP return next(handle, name);
  return answer(name, next(handle, name));
}

DLSYM_BINDING LM_EXPORT LM_JUMPS void *lm_dlvsym(void *handle, const char *name,
                                                 const char *version) __asm__("dlvsym");
DLSYM_BINDING LM_EXPORT LM_JUMPS void *lm_dlvsym(void *handle, const char *name,
                                                 const char *version) {
  RETURN_OF_STATIC(__dlvsym, handle, name, version);
  void *(*next)(void *, const char *, const char *) =
      (void *(*)(void *, const char *, const char *))next_function(&next_dlvsym, "dlvsym");
  if (next == NULL) return NULL;
  if (depends_on_caller(handle)) LM_JUMP return next(handle, name, version);
  return answer(name, next(handle, name, version));
}

#endif
