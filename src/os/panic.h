/* How loam ends a program: one line on standard error, then SIGABRT. docs/errors.md lists every
 * line that a user can see. */
#ifndef LM_OS_PANIC_H
#define LM_OS_PANIC_H

#include "base/compiler.h"
#include "base/format.h"

/* Writes the text and a newline, and aborts. A handler of SIGABRT may still allocate, and fork:
 * where it waits for a lock that this thread holds, or for who waits for one, the program ends. */
LM_NORETURN void lm_panic(struct lm_text *text);

/* Whether this thread is ending the program, so that it may hold any lock. */
extern LM_THREAD_LOCAL bool lm_thread_ends_program LM_TLS_MODEL;
/* For who has waited for a lock since then: if a thread is ending the program, and may hold it,
 * ends it after a while. */
void lm_end_if_in_vain(uint64_t began_ms);

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
