/* Names of loam's memory in /proc/self/smaps, where the kernel can: "[anon:loam:blocks]". By a
 * system call of its own (prctl), which after start is made only if the option names asks for it.
 * (Rejected: mappings that take the name along from one that was named at start, by mremap. Two
 * calls more for each, and none for huge blocks, which the system has to check.) */
#ifndef LM_PAGES_NAMES_H
#define LM_PAGES_NAMES_H

#include "base/compiler.h"

enum lm_memory_kind { LM_MEMORY_BLOCKS, LM_MEMORY_HUGE, LM_MEMORY_RECORDS };

/* A mapping of the system's has been made. */
void lm_names_give(enum lm_memory_kind kind, void *address, size_t size);

/* The process has its first region: what is made at start has been made. */
void lm_names_end_start(void);

#endif
