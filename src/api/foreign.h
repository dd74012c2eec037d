/* Addresses that are not blocks of loam's. */
#ifndef LM_API_FOREIGN_H
#define LM_API_FOREIGN_H

#include "base/compiler.h"

/* Each is called with an address that is no block of loam's. If it is a block of the C library's
 * own heap, the C library serves it; else the program ends with a line that names `caller`'s
 * module, or with foreign=ignore nothing happens. */
void lm_foreign_free(void *address, void *caller);
size_t lm_foreign_usable_bytes(void *address, void *caller);
/* The contents in a new block of loam's; NULL with the old kept if out of memory. */
void *lm_foreign_realloc(void *address, size_t size, void *caller);

/* ---- Per system: foreign_glibc.c, foreign_windows.c ---- */

/* The names of the C library's functions for its own blocks. */
extern const char lm_foreign_free_name[], lm_foreign_size_name[];

/* The function `name` of whoever has the block; NULL if it is no block of the C library's. Any
 * address will do. */
void *lm_foreign_owner_function(const void *address, const char *name);

#endif
