/* The lines for mistakes of the program's; docs/errors.md has them all. */
#ifndef LM_API_MISUSE_H
#define LM_API_MISUSE_H

#include "base/compiler.h"

LM_NORETURN void lm_misuse_double_free(const void *address, void *caller);
LM_NORETURN void lm_misuse_not_a_start(const void *address, const char *call, void *caller);
LM_NORETURN void lm_misuse_foreign(const void *address, const char *call, void *caller);
/* First-class heaps: `address` is a block, but of another one; and `heap` has been destroyed. */
LM_NORETURN void lm_misuse_not_of_heap(const void *address, const char *call, void *caller);
LM_NORETURN void lm_misuse_heap(const void *heap, const char *call, void *caller);
LM_NORETURN void lm_misuse_write_after_free(const void *address);
LM_NORETURN void lm_misuse_write_past_end(const void *address, size_t size);
LM_NORETURN void lm_misuse_wrong_size(const void *address, size_t size);

#endif
