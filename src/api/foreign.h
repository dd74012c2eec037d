/* Addresses that are not blocks of loam's. */
#ifndef LM_API_FOREIGN_H
#define LM_API_FOREIGN_H

#include "base/compiler.h"

/* Each is called with an address that is no block of loam's. If it is a block of the C library's
 * own heap, the C library serves it; else the program ends with a line that names `caller`'s
 * module, or with foreign=ignore nothing happens. */
void lm_foreign_free(void *address, void *caller);
size_t lm_foreign_usable_bytes(void *address, void *caller);
/* For realloc: true if the program's own has done it, where loam is aside (aside.h). */
bool lm_foreign_resize(void *address, size_t size, void **result);
/* Else: false if nothing happens, else how many bytes the block has; */
bool lm_foreign_can_move(void *address, size_t *bytes, void *caller);
/* and these, or the first `size` of them, in `copy`, which is returned, a new block of loam's, or
 * NULL: then the old one is kept. */
void *lm_foreign_move(void *address, size_t bytes, void *copy, size_t size, void *caller);

/* ---- Per system: foreign_glibc.c, foreign_windows.c ---- */

/* The names of the C library's functions for its own blocks. */
extern const char lm_foreign_free_name[], lm_foreign_size_name[];

/* The function `name` of whoever has the block; NULL if it is no block of the C library's. Any
 * address will do. */
void *lm_foreign_owner_function(const void *address, const char *name);

#endif
