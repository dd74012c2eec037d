/* What only FreeBSD has, as Linux does it: so src/os/os_unix.c can be run here. */
#ifndef LOAM_TESTS_UNIX_STAND_INS_H
#define LOAM_TESTS_UNIX_STAND_INS_H

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UMTX_OP_WAIT_UINT_PRIVATE 0x80 /* FUTEX_WAIT_PRIVATE */
#define UMTX_OP_WAKE_PRIVATE 0x81      /* FUTEX_WAKE_PRIVATE */

static inline int _umtx_op(void *word, int operation, unsigned long value, void *a, void *b) {
  (void)a, (void)b;
  return (int)syscall(SYS_futex, word, operation, (unsigned)value, NULL, NULL, 0);
}
static inline int pthread_getthreadid_np(void) { return gettid(); }
static inline int issetugid(void) { return (int)getauxval(AT_SECURE); }
static inline const char *getprogname(void) { return program_invocation_short_name; }

#endif
