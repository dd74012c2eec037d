/* C++'s operators new and delete, without a C++ compiler or library: [new.delete].
 *
 * The functions have the names that the Itanium C++ ABI gives them. What a C++ runtime must add,
 * the new-handler and the throw of std::bad_alloc, is looked for when memory runs out. This file
 * is compiled with -fexceptions, since exceptions pass through it. */
#include "api/aside.h"
#include "api/checking.h"
#include "os/os.h"
#include "os/panic.h"

#if !LM_NO_OVERRIDE && !LM_NO_OPERATORS

/* size_t in mangled names */
#if LM_BITS_64
#define SIZE_CODE "m"
#else
#define SIZE_CODE "j"
#endif

typedef void (*new_handler)(void);

extern new_handler cxx_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") LM_WEAK;
extern void cxx_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") LM_WEAK;

/* Of the Itanium C++ ABI; a std::bad_alloc is a pointer into its table of virtual functions. */
extern void *cxx_allocate_exception(size_t) __asm__("__cxa_allocate_exception") LM_WEAK;
extern void cxx_throw(void *, void *, void (*)(void *)) __asm__("__cxa_throw") LM_WEAK;
extern char cxx_bad_alloc_type[] __asm__("_ZTISt9bad_alloc") LM_WEAK;
extern void *cxx_bad_alloc_table[] __asm__("_ZTVSt9bad_alloc") LM_WEAK;
extern void cxx_bad_alloc_destroy(void *) __asm__("_ZNSt9bad_allocD1Ev") LM_WEAK;
#define TABLE_HEAD_WORDS 2

/* Bound at load where the C++ runtime was there already; looked up where it came later, perhaps for
 * the caller's module alone. */
static void *runtime_part(void *bound, const char *name, const void *caller) {
  return bound != NULL ? bound : lm_os_function_seen_by(caller, name);
}

static void throw_bad_alloc(const void *caller) {
  void (*throw_it)(void) = (void (*)(void))runtime_part((void *)cxx_throw_bad_alloc,
                                                        "_ZSt17__throw_bad_allocv", caller);
  if (throw_it != NULL) throw_it();
  /* libc++, and static programs that use little of their runtime, have the parts only. */
  void *(*allocate)(size_t) = (void *(*)(size_t))runtime_part(
      (void *)cxx_allocate_exception, "__cxa_allocate_exception", caller);
  void (*raise_it)(void *, void *, void (*)(void *)) =
      (void (*)(void *, void *, void (*)(void *)))runtime_part((void *)cxx_throw, "__cxa_throw",
                                                               caller);
  void (*destroy)(void *) =
      (void (*)(void *))runtime_part((void *)cxx_bad_alloc_destroy, "_ZNSt9bad_allocD1Ev", caller);
  void *type = runtime_part(cxx_bad_alloc_type, "_ZTISt9bad_alloc", caller);
  void **table = runtime_part(cxx_bad_alloc_table, "_ZTVSt9bad_alloc", caller);
  if (allocate != NULL && raise_it != NULL && type != NULL && table != NULL) {
    void **exception = allocate(sizeof(void *));
    *exception = table + TABLE_HEAD_WORDS;
    raise_it(exception, type, destroy);
  }
  LM_TEXT(text, 128);
  lm_text_string(&text, "loam: out of memory in operator new and no C++ runtime to throw "
                        "std::bad_alloc");
  lm_panic(&text);
}

static new_handler current_new_handler(const void *caller) {
  new_handler (*get)(void) = (new_handler(*)(void))runtime_part(
      (void *)cxx_get_new_handler, "_ZSt15get_new_handlerv", caller);
  return get != NULL ? get() : NULL;
}

/* The program's, where loam is aside. */
static void *take_new(size_t alignment, size_t size, enum lm_block_kind kind) {
  void *block;
  if (lm_is_aside() && lm_aside_take(alignment, size, &block)) return block;
  return lm_checked_new_aligned(alignment, size, kind);
}

/* A block after all, once a new-handler has made room; else throws. The handler may throw too. */
static LM_COLD void *new_slow(size_t alignment, size_t size, enum lm_block_kind kind,
                              const void *caller) {
  for (;;) {
    void *block = take_new(alignment, size, kind);
    if (block != NULL) return block;
    new_handler handler = current_new_handler(caller);
    if (handler == NULL) throw_bad_alloc(caller);
    else handler();
  }
}

#define NAMED(result, name, mangled, ...) \
  LM_EXPORT result name(__VA_ARGS__) __asm__(mangled); \
  LM_EXPORT result name(__VA_ARGS__)

/* ---- A program's own operators ---- */

/* A program may replace new and delete alone: the forms for arrays, with sizes and without
 * exceptions then have to call these, since each may be given a block of the other: [new.delete].
 * Forms with an alignment are a family of their own. */
LM_EXPORT void *cxx_new(size_t size) __asm__("_Znw" SIZE_CODE);
LM_EXPORT void cxx_delete(void *block) __asm__("_ZdlPv");
LM_EXPORT void cxx_delete_array(void *block) __asm__("_ZdaPv");
/* What the loader has found under the names; volatile, as the compiler knows what we define. */
static void *(*const volatile bound_new)(size_t size) = cxx_new;
static void (*const volatile bound_delete)(void *block) = cxx_delete;
static void (*const volatile bound_delete_array)(void *block) = cxx_delete_array;

#if defined(__ELF__)
extern void *lm_cxx_new(size_t size)
    __attribute__((alias("_Znw" SIZE_CODE), visibility("hidden")));
extern void lm_cxx_delete(void *block) __attribute__((alias("_ZdlPv"), visibility("hidden")));

/* Both, since the address of one may be the program's stub of ours. */
LM_INLINE bool finds_other_operators(void) {
  return LM_UNLIKELY(bound_new != lm_cxx_new) && bound_delete != lm_cxx_delete;
}
#else
LM_INLINE bool finds_other_operators(void) { return false; }
#endif

#if LM_STEPS_ASIDE
bool lm_program_has_operators(void) { return finds_other_operators(); }

LM_INLINE bool program_has_operators(void) {
  return LM_UNLIKELY(lm_load_relaxed(&lm_aside) != LM_ASIDE_NO) && finds_other_operators();
}
#else
LM_INLINE bool program_has_operators(void) { return finds_other_operators(); }
#endif

static LM_COLD void *program_new_nothrow(const char *name, size_t size, const void *nothrow,
                                         const void *caller) {
  void *(*next)(size_t, const void *) =
      (void *(*)(size_t, const void *))lm_os_function_seen_by(caller, name);
  return next != NULL ? next(size, nothrow) : bound_new(size);
}

/* ---- new ---- */

NAMED(void *, cxx_new, "_Znw" SIZE_CODE, size_t size) {
  void *block = lm_is_aside() ? NULL : lm_checked_new(size, LM_KIND_NEW);
  if (LM_LIKELY(block != NULL)) return block;
  return new_slow(LM_GRANULE_BYTES, size, LM_KIND_NEW, LM_CALLER());
}

NAMED(void *, cxx_new_array, "_Zna" SIZE_CODE, size_t size) {
  if (program_has_operators()) return bound_new(size);
  void *block = lm_is_aside() ? NULL : lm_checked_new(size, LM_KIND_NEW_ARRAY);
  if (LM_LIKELY(block != NULL)) return block;
  return new_slow(LM_GRANULE_BYTES, size, LM_KIND_NEW_ARRAY, LM_CALLER());
}

NAMED(void *, cxx_new_aligned, "_Znw" SIZE_CODE "St11align_val_t", size_t size,
      size_t alignment) {
  void *block = take_new(alignment, size, LM_KIND_NEW);
  if (LM_LIKELY(block != NULL)) return block;
  return new_slow(alignment, size, LM_KIND_NEW, LM_CALLER());
}

NAMED(void *, cxx_new_array_aligned, "_Zna" SIZE_CODE "St11align_val_t", size_t size,
      size_t alignment) {
  void *block = take_new(alignment, size, LM_KIND_NEW_ARRAY);
  if (LM_LIKELY(block != NULL)) return block;
  return new_slow(alignment, size, LM_KIND_NEW_ARRAY, LM_CALLER());
}

/* The C++ runtime's forms call operator new for both kinds. */
static void *of_kind(void *block, enum lm_block_kind kind) {
  if (block != NULL && !lm_is_aside()) lm_checked_set_kind(block, kind);
  return block;
}

/* The nothrow forms do as the others and return null where those throw. What a new-handler throws
 * takes C++ to catch: the C++ runtime's own form does that around a call of operator new, which is
 * ours. In a static program that form is not there, and null is returned without a handler's help
 * only: an exception of its own goes through to the caller. */
static LM_COLD void *new_nothrow_slow(size_t alignment, size_t size, enum lm_block_kind kind,
                                      const void *nothrow, const void *caller) {
  if (alignment <= LM_GRANULE_BYTES) {
    void *(*next)(size_t, const void *) = (void *(*)(size_t, const void *))lm_os_function_seen_by(
        caller, "_Znw" SIZE_CODE "RKSt9nothrow_t");
    if (next != NULL) return of_kind(next(size, nothrow), kind);
  } else {
    void *(*next)(size_t, size_t, const void *) =
        (void *(*)(size_t, size_t, const void *))lm_os_function_seen_by(
            caller, "_Znw" SIZE_CODE "St11align_val_tRKSt9nothrow_t");
    if (next != NULL) return of_kind(next(size, alignment, nothrow), kind);
  }
  for (;;) {
    new_handler handler = current_new_handler(caller);
    if (handler == NULL) return NULL;
    handler();
    void *block = take_new(alignment, size, kind);
    if (block != NULL) return block;
  }
}

LM_INLINE void *new_nothrow(size_t size, enum lm_block_kind kind, const void *nothrow,
                            const void *caller) {
  void *block = lm_is_aside() ? take_new(LM_GRANULE_BYTES, size, kind) : lm_checked_new(size, kind);
  if (LM_LIKELY(block != NULL)) return block;
  return new_nothrow_slow(LM_GRANULE_BYTES, size, kind, nothrow, caller);
}

LM_INLINE void *new_aligned_nothrow(size_t size, size_t alignment, enum lm_block_kind kind,
                                    const void *nothrow, const void *caller) {
  void *block = take_new(alignment, size, kind);
  if (LM_LIKELY(block != NULL)) return block;
  return new_nothrow_slow(alignment, size, kind, nothrow, caller);
}

NAMED(void *, cxx_new_nothrow, "_Znw" SIZE_CODE "RKSt9nothrow_t", size_t size,
      const void *nothrow) {
  if (program_has_operators())
    return program_new_nothrow("_Znw" SIZE_CODE "RKSt9nothrow_t", size, nothrow, LM_CALLER());
  return new_nothrow(size, LM_KIND_NEW, nothrow, LM_CALLER());
}

NAMED(void *, cxx_new_array_nothrow, "_Zna" SIZE_CODE "RKSt9nothrow_t", size_t size,
      const void *nothrow) {
  if (program_has_operators())
    return program_new_nothrow("_Zna" SIZE_CODE "RKSt9nothrow_t", size, nothrow, LM_CALLER());
  return new_nothrow(size, LM_KIND_NEW_ARRAY, nothrow, LM_CALLER());
}

NAMED(void *, cxx_new_aligned_nothrow, "_Znw" SIZE_CODE "St11align_val_tRKSt9nothrow_t",
      size_t size, size_t alignment, const void *nothrow) {
  return new_aligned_nothrow(size, alignment, LM_KIND_NEW, nothrow, LM_CALLER());
}

NAMED(void *, cxx_new_array_aligned_nothrow, "_Zna" SIZE_CODE "St11align_val_tRKSt9nothrow_t",
      size_t size, size_t alignment, const void *nothrow) {
  return new_aligned_nothrow(size, alignment, LM_KIND_NEW_ARRAY, nothrow, LM_CALLER());
}

/* ---- delete: all forms free ---- */

/* A block that is not loam's to free, or not at once; false if it is. */
static LM_NOINLINE bool delete_elsewhere(void *block, void (*other)(void *)) {
  if (other != NULL && finds_other_operators()) other(block);
  else if (lm_is_aside()) lm_aside_free(block);
  else return false;
  return true;
}

LM_INLINE bool is_elsewhere(void) {
#if LM_STEPS_ASIDE
  return LM_UNLIKELY(lm_load_relaxed(&lm_aside) != LM_ASIDE_NO);
#else
  return program_has_operators();
#endif
}

#define DELETE(name, mangled, kind, ...) \
  NAMED(void, name, mangled, void *block, ##__VA_ARGS__) { \
    if (LM_STEPS_ASIDE && is_elsewhere() && delete_elsewhere(block, NULL)) return; \
    lm_checked_delete(block, kind, LM_CALLER()); \
  }
/* Goes through another form where that may be the program's own. */
#define DELETE_BY(other, name, mangled, kind, ...) \
  NAMED(void, name, mangled, void *block, ##__VA_ARGS__) { \
    if (is_elsewhere() && delete_elsewhere(block, other)) return; \
    lm_checked_delete(block, kind, LM_CALLER()); \
  }
#define DELETE_SIZED(name, mangled, kind, ...) \
  NAMED(void, name, mangled, void *block, size_t size, ##__VA_ARGS__) { \
    if (LM_STEPS_ASIDE && is_elsewhere() && delete_elsewhere(block, NULL)) return; \
    lm_checked_delete_sized(block, size, true, kind, LM_CALLER()); \
  }
#define DELETE_SIZED_BY(other, name, mangled, kind) \
  NAMED(void, name, mangled, void *block, size_t size) { \
    if (is_elsewhere() && delete_elsewhere(block, other)) return; \
    lm_checked_delete_sized(block, size, false, kind, LM_CALLER()); \
  }

#define NEW LM_KIND_NEW
#define ARRAY LM_KIND_NEW_ARRAY
DELETE(cxx_delete, "_ZdlPv", NEW)
DELETE_BY(bound_delete, cxx_delete_array, "_ZdaPv", ARRAY)
DELETE_BY(bound_delete, cxx_delete_nothrow, "_ZdlPvRKSt9nothrow_t", NEW, const void *n LM_UNUSED)
DELETE_BY(bound_delete_array, cxx_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", ARRAY,
          const void *n LM_UNUSED)
DELETE(cxx_delete_aligned, "_ZdlPvSt11align_val_t", NEW, size_t a LM_UNUSED)
DELETE(cxx_delete_array_aligned, "_ZdaPvSt11align_val_t", ARRAY, size_t a LM_UNUSED)
DELETE(cxx_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", NEW, size_t a LM_UNUSED,
       const void *n LM_UNUSED)
DELETE(cxx_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", ARRAY,
       size_t a LM_UNUSED, const void *n LM_UNUSED)
DELETE_SIZED_BY(bound_delete, cxx_delete_sized, "_ZdlPv" SIZE_CODE, NEW)
DELETE_SIZED_BY(bound_delete_array, cxx_delete_array_sized, "_ZdaPv" SIZE_CODE, ARRAY)
DELETE_SIZED(cxx_delete_sized_aligned, "_ZdlPv" SIZE_CODE "St11align_val_t", NEW,
             size_t a LM_UNUSED)
DELETE_SIZED(cxx_delete_array_sized_aligned, "_ZdaPv" SIZE_CODE "St11align_val_t", ARRAY,
             size_t a LM_UNUSED)

#elif LM_STEPS_ASIDE

bool lm_program_has_operators(void) { return false; }

#endif
