/* What every file that holds loam says of itself. */
#ifndef LM_API_NOTE_H
#define LM_API_NOTE_H

#include "base/compiler.h"
#include "loam/loam.h"

#define LM_NOTE_OWNER "loam"
#if LM_CHECKING
#define LM_NOTE_BUILD "checking"
#elif LM_HARDENED_ANY
#define LM_NOTE_BUILD "hardened"
#else
#define LM_NOTE_BUILD "fast"
#endif
#define LM_NOTE_DESCRIPTION LOAM_VERSION "\0" LM_NOTE_BUILD
#define LM_NOTE_PADDED(text) ((sizeof(text) + 3) / 4 * 4)

struct lm_note {
  uint32_t owner_bytes, description_bytes, type;
  char owner[LM_NOTE_PADDED(LM_NOTE_OWNER)];
  char description[LM_NOTE_PADDED(LM_NOTE_DESCRIPTION)];
};
extern const struct lm_note lm_note;

#endif
