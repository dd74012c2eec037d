/* The allocator's own unwinder, for the recorder: by frame pointers where there are no rows of
 * .eh_frame. Every call is unwound, not a sample, so that it remembers more. */
#define LM_SYSTEM_ALONE 1
#define LM_REMEMBERED_ROWS_BITS 16
#define LM_REMEMBERS_STACKS 1
#include "loam.c"

#include "unwind.h"

void record_unwind_begin(void) {
  lm_os.page_bytes = getauxval(AT_PAGESZ);
  lm_lock_reset(&lm_unwind_lock); /* whoever held it when this process was forked */
}

size_t record_unwind(uintptr_t *callers, size_t count) { return lm_os_unwind(callers, count); }
