/* Sizeless blocks: what a program gets that asks for 0 bytes, in the checking build and in one with
 * guards. Each has an address of its own, where nothing can be accessed: who reads or writes there
 * stops at that instruction. An address is used again after some thousands of others. Where all are
 * in use, or an alignment is asked for, a block of no bytes is an ordinary one. */
#ifndef LM_API_SIZELESS_H
#define LM_API_SIZELESS_H

#include "base/atomic.h"
#include "base/compiler.h"

#define LM_SIZELESS (LM_CHECKING || LM_HARDENED_GUARDS)

#if LM_SIZELESS

/* A block, or NULL. The process has started. */
void *lm_sizeless_take(void);
/* Whether the address is one of these, in use or not. */
bool lm_sizeless_holds(const void *address);
/* Whether the program has a block at such an address; with `end`, it does no longer. */
bool lm_sizeless_is(const void *address, bool end);
/* Ends the program if it has none there. */
void lm_sizeless_look(const void *address, const char *call, void *caller);
void lm_sizeless_end(const void *address, void *caller);
/* A byte for who has taken the block to write, and who frees it to read. */
_Atomic(uint8_t) *lm_sizeless_kind(const void *block);

#else

LM_INLINE void *lm_sizeless_take(void) { return NULL; }
LM_INLINE bool lm_sizeless_holds(const void *address) {
  (void)address;
  return false;
}
LM_INLINE void lm_sizeless_look(const void *address, const char *call, void *caller) {
  (void)address;
  (void)call;
  (void)caller;
}
LM_INLINE void lm_sizeless_end(const void *address, void *caller) {
  (void)address;
  (void)caller;
}

#endif
#endif
