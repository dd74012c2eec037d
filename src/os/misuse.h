/* The lines for mistakes of the program's; docs/errors.md has them all. */
#ifndef LM_OS_MISUSE_H
#define LM_OS_MISUSE_H

#include "base/compiler.h"

/* Of these two, `caller` is NULL if the mistake was made earlier, by whom is not known. */
LM_NORETURN void lm_misuse_double_free(const void *address, void *caller);
LM_NORETURN void lm_misuse_not_a_start(const void *address, const char *call, void *caller);
LM_NORETURN void lm_misuse_foreign(const void *address, const char *call, void *caller);
/* First-class heaps: `address` is a block, but of another one; and `heap` has been destroyed. */
LM_NORETURN void lm_misuse_not_of_heap(const void *address, const char *call, void *caller);
LM_NORETURN void lm_misuse_heap(const void *heap, const char *call, void *caller);
LM_NORETURN void lm_misuse_write_after_free(const void *address);
/* The same, of a block that is known by its size alone. */
LM_NORETURN void lm_misuse_broken_link(size_t block_bytes);
LM_NORETURN void lm_misuse_write_before_start(const void *address);
LM_NORETURN void lm_misuse_write_past_end(const void *address, size_t size);
/* An access that the system has stopped: near that block, or in it after it was freed. */
LM_NORETURN void lm_misuse_access(const void *address, const void *block, size_t size, bool freed);
/* A block of `kind`, as "new[]", given to what does not go with it. */
LM_NORETURN void lm_misuse_mismatch(const void *address, const char *kind, const char *call,
                                    void *caller);
LM_NORETURN void lm_misuse_wrong_size(const void *address, size_t size, void *caller);

/* A line of a stack that is printed before one of these. */
void lm_misuse_print_place(uintptr_t address);

#endif
