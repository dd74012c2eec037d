/* More names for functions of the same file: the standard ones that loam replaces. */
#ifndef LM_API_OVERRIDE_H
#define LM_API_OVERRIDE_H

#include "base/compiler.h"

/* 1: the names of POSIX and of C libraries for it. Windows has other ones: family_windows.c. */
#if LM_NO_OVERRIDE || defined(_WIN32)
#define LM_POSIX_NAMES 0
#else
#define LM_POSIX_NAMES 1
#endif

/* LM_ALIAS(result, name, target, parameter types...): `name` is the function `target`, which the
 * file has defined. */
#define LM_ALIAS(result, name, target, ...) \
  LM_EXPORT result name(__VA_ARGS__) __attribute__((alias(#target), nothrow));

/* The same for a name that only a static C library's own members ask for. */
#define LM_STATIC_ALIAS(result, name, target, ...) \
  result name(__VA_ARGS__) __attribute__((alias(#target), nothrow));

/* Tools that watch memory put functions of their own in the place of these, which they find by
 * name, and do not know all that derive from them (Valgrind: reallocarray, pvalloc, free_sized). So
 * whatever derives from another is a call of that, last, so that its caller is ours. */
#define LM_BY_NAME(function)                     \
  ({                                             \
    __typeof__(&(function)) address = &function; \
    __asm__("" : "+r"(address));                 \
    address;                                     \
  })

#endif
