/* Text built in a fixed buffer: no allocation, no locale. What does not fit is cut. */
#ifndef LM_BASE_FORMAT_H
#define LM_BASE_FORMAT_H

#include "base/compiler.h"

struct lm_text {
  char *bytes;
  size_t capacity;
  size_t length;
};

#define LM_TEXT(name, capacity_bytes) \
  char name##_bytes[capacity_bytes]; \
  struct lm_text name = {name##_bytes, (capacity_bytes), 0}

void lm_text_char(struct lm_text *text, char c);
void lm_text_string(struct lm_text *text, const char *string);
void lm_text_span(struct lm_text *text, const char *string, size_t length);
void lm_text_number(struct lm_text *text, uint64_t number);
/* Three digits of so many bytes, with their unit: 999 B, 1.23 MiB, 45.6 GiB. */
void lm_text_bytes(struct lm_text *text, uint64_t bytes);
/* Blanks up to a column, counted from where the line starts; one at least. */
void lm_text_pad(struct lm_text *text, size_t line_start, size_t column);
/* As 0x followed by lower-case digits. */
void lm_text_address(struct lm_text *text, uintptr_t address);

/* A path, and a zero behind it, with the number for each %p of the pattern. */
void lm_text_path(struct lm_text *text, const char *pattern, uint64_t number);

size_t lm_string_length(const char *string);
bool lm_string_equal(const char *a, size_t a_length, const char *b);
/* Takes blanks off both ends of [*string, *string + *length). */
void lm_string_trim(const char **string, size_t *length);
/* A decimal number that fills the whole of [string, string + length); false if it is not one. */
bool lm_parse_number(const char *string, size_t length, uint64_t *number);

#endif
