/* System calls as the other files here make them: tests let some fail, the program may want to
 * learn of some, and a filter may forbid kinds of them. */
#ifndef LM_OS_CALLS_LINUX_H
#define LM_OS_CALLS_LINUX_H

#include "base/compiler.h"

/* One that may fail: returns minus an errno then, as the kernel does. */
long lm_call_or_fault(long n, long a, long b, long c, long d, long e, long f);

/* One that takes memory away: by the C library's functions if lm_os_call_library was called. The
 * first is for what must not fail in tests. */
long lm_call_taking(long n, long a, long b, long c, long d);
long lm_call_taking_or_fault(long n, long a, long b, long c, long d);
bool lm_calls_library(void);

/* madvise(2) that changes nothing of what is in memory; nothing if few kinds of calls are made. */
void lm_advise(void *address, size_t size, int advice);

#endif
