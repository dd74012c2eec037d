#ifndef LOAM_RECORD_UNWIND_H
#define LOAM_RECORD_UNWIND_H

#include <stddef.h>
#include <stdint.h>

/* Once in each process, also in the child of a fork. */
void record_unwind_begin(void);

/* The return addresses on the calling thread's stack, the recorder's own first; at most `count`.
 * Allocates nothing. */
size_t record_unwind(uintptr_t *callers, size_t count);

#endif
