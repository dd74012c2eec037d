/* What `loam-run --verify` says: for each module, which functions of the malloc family lead to
 * loam. */
#ifndef LM_REDIRECT_PROOF_WINDOWS_H
#define LM_REDIRECT_PROOF_WINDOWS_H

#include "base/format.h"

#include <windows.h>

/* What the launcher gets to know, in a section of memory that has this name. */
struct lm_proof {
  uint32_t is_complete;
  uint32_t function_count, led_count; /* of all modules */
  uint32_t escape_count;              /* the others, and runtimes that modules have inside */
};
#define LM_PROOF_NAME_LENGTH 40
LM_INLINE void lm_proof_name(DWORD process, char *name) {
  struct lm_text text = {name, LM_PROOF_NAME_LENGTH, 0};
  lm_text_string(&text, "Local\\loam-verify-");
  lm_text_number(&text, process);
  lm_text_char(&text, 0);
}

/* At the end of the process; writes nothing if nobody has asked. */
void lm_proof_write(void);

#endif
