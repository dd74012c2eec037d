/* How loam ends a program: one line on standard error, then SIGABRT. docs/errors.md lists every
 * line that a user can see. */
#ifndef LM_OS_PANIC_H
#define LM_OS_PANIC_H

#include "base/compiler.h"
#include "base/format.h"

/* Writes the text and a newline, and aborts. */
LM_NORETURN void lm_panic(struct lm_text *text);

/* A broken promise inside loam itself, not a mistake of the program's. */
LM_NORETURN void lm_assert_failed(const char *expression, const char *file, int line);

/* The first in any build that has it, the second in the checking build. */
#define lm_must(x) ((x) ? (void)0 : lm_assert_failed(#x, __FILE__, __LINE__))
#if LM_CHECKING
#define lm_assert(x) lm_must(x)
#else
#define lm_assert(x) ((void)0)
#endif

#endif
