/* A module of the process as the loader has mapped it: what a PE file says of itself. */
#ifndef LM_REDIRECT_IMAGE_WINDOWS_H
#define LM_REDIRECT_IMAGE_WINDOWS_H

#include "base/compiler.h"

#include <windows.h>

struct lm_image {
  char *base;
  const IMAGE_NT_HEADERS *headers;
  const wchar_t *path; /* of its file, as the loader has it; NULL if nobody has asked */
};

/* False if it is no module of this process's bitness. */
bool lm_image_read(void *base, struct lm_image *image);

bool lm_image_holds(const struct lm_image *image, const void *address);
/* Whether so many bytes are code of it. */
bool lm_image_is_code(const struct lm_image *image, const char *address, size_t size);
bool lm_image_has_section(const struct lm_image *image, const char *name);

/* Where the module keeps what it exports by that name, as the distance from its base; NULL if it
 * exports none, or another module's. */
DWORD *lm_image_export(const struct lm_image *image, const char *name);

/* Whether a function begins within (address, address + size), by what is exported and by what is
 * told for unwinding. */
bool lm_image_function_begins_in(const struct lm_image *image, const char *address, size_t size);

/* Calls `visit` for each function that it imports by name, with where the address of that stands.
 * What is looked up at its first call is there, too, with `is_delayed`. */
typedef void lm_slot_visitor(void *context, const char *library, const char *name, void **slot,
                             bool is_delayed);
void lm_image_visit_slots(const struct lm_image *image, lm_slot_visitor *visit, void *context);

/* Whether so many bytes are as in the module's file, whose path is known. Reads it. */
bool lm_image_is_as_in_file(const struct lm_image *image, const char *address, size_t size);

#endif
