/* What differs between compilers and word sizes, and nothing else. */
#ifndef LM_BASE_COMPILER_H
#define LM_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(LM_CHECKING)
#define LM_CHECKING 0 /* 1: the checking build */
#endif
#if !defined(LM_NO_OVERRIDE)
#if defined(LOAM_NO_OVERRIDE) /* the same for those who vendor loam.c, with any value or none */
#define LM_NO_OVERRIDE 1
#else
#define LM_NO_OVERRIDE 0 /* 1: only the loam_ names, no malloc */
#endif
#endif
/* 1: what makes mistakes and attacks on the heap harder, at some cost; docs/misuse.md. Its parts
 * can be had one by one. */
#if !defined(LM_HARDENED)
#if defined(LOAM_HARDENED) /* the same for those who vendor loam.c, with any value or none */
#define LM_HARDENED 1
#else
#define LM_HARDENED 0
#endif
#endif
#if !defined(LM_HARDENED_LINKS)
#define LM_HARDENED_LINKS LM_HARDENED /* 1: encoded links of free blocks; pages/block.h */
#endif
#if !defined(LM_HARDENED_ORDER)
#define LM_HARDENED_ORDER LM_HARDENED /* 1: fresh blocks in random order; central/span_life.c */
#endif
#if !defined(LM_HARDENED_GUARDS)
#define LM_HARDENED_GUARDS LM_HARDENED /* 1: guard pages behind spans; central/span_life.h */
#endif
#if !defined(LM_HARDENED_FREES)
#define LM_HARDENED_FREES (LM_HARDENED && !LM_CHECKING) /* 1: api/hardened.h */
#endif
#if LM_HARDENED_LINKS || LM_HARDENED_ORDER || LM_HARDENED_GUARDS || LM_HARDENED_FREES
#define LM_HARDENED_ANY 1
#else
#define LM_HARDENED_ANY 0
#endif
#if !defined(LM_NO_DLSYM)
#define LM_NO_DLSYM 0 /* 1: dlsym and dlvsym are left to the C library */
#endif
#if !defined(LM_NO_OPERATORS)
#define LM_NO_OPERATORS 0 /* 1: operators new and delete are left to the C++ runtime */
#endif
#if !defined(LM_FAKE_OS)
#define LM_FAKE_OS 0 /* 1: system calls can be made to fail, for tests */
#endif
#if !defined(LM_SHARED)
#define LM_SHARED 0 /* 1: a shared library, to be loaded beside any C library */
#endif
#if !defined(LM_REDIRECT)
#define LM_REDIRECT 0 /* 1: the DLL for Windows that redirects C runtimes (src/redirect) */
#endif
#if !defined(LM_TLS_DYNAMIC)
#define LM_TLS_DYNAMIC 0 /* 1: thread-local storage that any loader gives a library at any time */
#endif

/* GCC wants an alias to repeat its target's attributes; those are for callers. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif

#define LM_LIKELY(x) __builtin_expect(!!(x), 1)
#define LM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LM_INLINE static inline __attribute__((always_inline))
#define LM_NOINLINE __attribute__((noinline))
#define LM_COLD __attribute__((noinline, cold))
#define LM_NORETURN __attribute__((noreturn))
/* Not by the code that GCC sees when it optimizes the whole program: by assembly. */
#if defined(__clang__)
#define LM_SEEN_FROM_OUTSIDE
#else
#define LM_SEEN_FROM_OUTSIDE __attribute__((externally_visible))
#endif
#if defined(_WIN32)
#define LM_EXPORT /* exports are listed elsewhere */
#else
#define LM_EXPORT __attribute__((visibility("default")))
#endif
#define LM_UNUSED __attribute__((unused))
#define LM_WEAK __attribute__((weak))
/* A linker that drops what nobody refers to keeps what is at `address` with the code that says
 * this. */
#define LM_KEEP(address) __asm__ volatile("" : : "r"(address))
/* LM_JUMPS: a function that ends with `LM_JUMP return f(...);`, which leaves no frame: who asks for
 * f's caller gets its own. Whatever the level of optimization. */
#if !defined(__clang__)
#define LM_JUMPS __attribute__((optimize("O2")))
#define LM_JUMP
#elif __has_attribute(musttail)
#define LM_JUMPS
#define LM_JUMP __attribute__((musttail))
#else /* clang before 13: where it optimizes */
#define LM_JUMPS
#define LM_JUMP
#endif
#define LM_CALLER() __builtin_extract_return_addr(__builtin_return_address(0))

#if defined(_WIN32) || defined(__APPLE__)
#define LM_TLS_MODEL /* there is but one */
#elif LM_TLS_DYNAMIC
#define LM_TLS_MODEL __attribute__((tls_model("global-dynamic")))
#else
#define LM_TLS_MODEL __attribute__((tls_model("initial-exec")))
#endif

/* Clang checks that locks are held where these say so (-Wthread-safety); a test lets it. Of members
 * of structures C cannot say which lock of the same structure guards them. */
#if defined(__clang__)
#define LM_LOCKING(attribute) __attribute__((attribute))
#else
#define LM_LOCKING(attribute)
#endif
#define LM_IS_LOCK LM_LOCKING(capability("lock"))
#define LM_GUARDED_BY(lock) LM_LOCKING(guarded_by(lock))         /* a variable */
#define LM_REQUIRES(lock) LM_LOCKING(requires_capability(lock))  /* a function: held before */
#define LM_TAKES(lock) LM_LOCKING(acquire_capability(lock))
#define LM_TAKES_IF_TRUE(lock) LM_LOCKING(try_acquire_capability(true, lock))
#define LM_FREES(lock) LM_LOCKING(release_capability(lock))
#define LM_LOCKS_UNCHECKED LM_LOCKING(no_thread_safety_analysis) /* what clang cannot follow */

/* Keeps a value that will be returned in the register that it is returned in; GCC moves it there
 * at the end otherwise. */
#if defined(__x86_64__)
#define LM_IN_RESULT_REGISTER(value) __asm__("" : "+a"(value))
#else
#define LM_IN_RESULT_REGISTER(value) ((void)(value))
#endif

/* Takes a constant from `*count`, and leads to whether it is below 0. GCC computes the address
 * apart. */
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
#define LM_FALLS_BELOW_0(count, less)                                                            \
  ({                                                                                             \
    bool lm_below;                                                                               \
    __asm__("subl %2, %1" : "=@ccs"(lm_below), "+m"(*(count)) : "i"(less));                      \
    lm_below;                                                                                    \
  })
#else
#define LM_FALLS_BELOW_0(count, less) ((*(count) -= (less)) < 0)
#endif

/* A C function's or variable's name as the assembler knows it. */
#define LM_STRING_OF(x) #x
#define LM_STRING(x) LM_STRING_OF(x)
#define LM_SYMBOL(name) LM_STRING(__USER_LABEL_PREFIX__) name

/* A thread-local variable is defined `LM_THREAD_LOCAL type name = value;` and used as
 * LM_THREAD(name). Reading it takes no call. */
#if defined(_WIN32) && !defined(__clang__)
/* GCC emulates thread-local variables on Windows, with calls of malloc. The system does have them:
 * the loader copies the section .tls for each thread, and the thread finds its copies, one for each
 * module, through its own block. What counts as .tls goes by name up to .tls$ZZZ, capitals first.
 * Such a variable may not be static. */
#define LM_THREAD_LOCAL __attribute__((section(".tls$LOAM")))
#define LM_THREAD(name) (*(__typeof__(&(name)))LM_THREAD_ADDRESS(#name))
#define LM_THREAD_ADDRESS(name)                                                                \
  ({                                                                                           \
    void *lm_address;                                                                          \
    __asm__(LM_LEA " " LM_SYMBOL(name) "@SECREL32(%1), %0" : "=r"(lm_address)                  \
            : "r"(lm_thread_variables()));                                                     \
    lm_address;                                                                                \
  })
#if defined(__x86_64__)
#define LM_LEA "leaq"
LM_INLINE void *lm_thread_variables(void) {
  void *start;
  uintptr_t index;
  __asm__("movq %%gs:0x58, %0\n\tmovl _tls_index(%%rip), %k1\n\tmovq (%0,%1,8), %0"
          : "=&r"(start), "=&r"(index));
  return start;
}
#else
#define LM_LEA "leal"
LM_INLINE void *lm_thread_variables(void) {
  void *start;
  uintptr_t index;
  __asm__("movl %%fs:0x2c, %0\n\tmovl __tls_index, %1\n\tmovl (%0,%1,4), %0"
          : "=&r"(start), "=&r"(index));
  return start;
}
#endif
#else
#define LM_THREAD_LOCAL __thread
#define LM_THREAD(name) (name)
#endif

/* The distance that keeps two words from sharing a line on every machine that we know. */
#define LM_CACHE_LINE_BYTES 64
#define LM_CACHE_ALIGNED __attribute__((aligned(LM_CACHE_LINE_BYTES)))

#define LM_BITS_64 (UINTPTR_MAX > 0xffffffffu)

#define LM_KIB ((size_t)1 << 10)
#define LM_MIB ((size_t)1 << 20)

#endif
