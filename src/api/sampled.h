/* Sampled guarded blocks: with the option guard_ms a small block now and then stands by itself
 * between pages that nobody may access, and its place stays so for a while after it was freed. So
 * the first access past either end or after free stops the program, which is told who took the
 * block, who freed it, and who has accessed it.
 *
 * The clock says when a thread's next one is due (thread/tick.c), so that what they cost is a part
 * of the time that is known before, and nothing while none is due: then malloc takes the slow path
 * for some calls. While a profile is taken, no block is guarded. */
#ifndef LM_API_SAMPLED_H
#define LM_API_SAMPLED_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"

void lm_sampled_start_by_options(void);

/* A block, of zeros if `clear`; NULL if there is none to be had, or the size is too large. */
void *lm_sampled_take(size_t size, bool clear);

bool lm_sampled_holds(const void *address);
/* Of these, what is no block of the program's, or has been written around, ends the program. */
size_t lm_sampled_size(const void *address, const char *call, void *caller);
void lm_sampled_end(void *address, void *caller);
/* The block has so many bytes from here on, which are not more. */
void lm_sampled_shorten(void *block, size_t size);

/* For fork. */
extern struct lm_lock lm_sampled_lock;

#endif
