/* A note that says that this file holds loam, which version and which build. Unlike symbols it
 * stays in stripped programs, and linkers keep notes when they collect unused sections. Its layout
 * is documented in docs/graft.md. */
#include "api/note.h"

#if !LM_NO_OVERRIDE

/* A PE file has no notes: there it is an ordinary section, which the reference from process.c
 * keeps. A stripped one has no room for names of more than 8 characters. */
#if defined(_WIN32)
#define NOTE_SECTION ".loam"
#else
#define NOTE_SECTION ".note.loam"
#endif
#define NOTE_TYPE_VERSION 1

const struct lm_note lm_note __attribute__((section(NOTE_SECTION), used, aligned(4))) = {
    sizeof LM_NOTE_OWNER, sizeof LM_NOTE_DESCRIPTION, NOTE_TYPE_VERSION, LM_NOTE_OWNER,
    LM_NOTE_DESCRIPTION,
};

#endif
