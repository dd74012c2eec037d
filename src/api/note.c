/* A note that says that this file holds loam, which version and which build. Unlike symbols it
 * stays in stripped programs, and linkers keep notes when they collect unused sections. Its layout
 * is documented in docs/graft.md. */
#include "base/compiler.h"
#include "loam/loam.h"

#if defined(__ELF__) && !LM_NO_OVERRIDE

#define NOTE_OWNER "loam"
#define NOTE_TYPE_VERSION 1
#if LM_CHECKING
#define NOTE_BUILD "checking"
#else
#define NOTE_BUILD "fast"
#endif
#define NOTE_DESCRIPTION LOAM_VERSION "\0" NOTE_BUILD
#define NOTE_PADDED(text) ((sizeof(text) + 3) / 4 * 4)

static const struct {
  uint32_t owner_bytes, description_bytes, type;
  char owner[NOTE_PADDED(NOTE_OWNER)];
  char description[NOTE_PADDED(NOTE_DESCRIPTION)];
} note __attribute__((section(".note.loam"), used, aligned(4))) = {
    sizeof NOTE_OWNER, sizeof NOTE_DESCRIPTION, NOTE_TYPE_VERSION, NOTE_OWNER, NOTE_DESCRIPTION,
};

#endif
