#include "base/format.h"

void lm_text_char(struct lm_text *text, char c) {
  if (text->length < text->capacity) text->bytes[text->length++] = c;
}

void lm_text_span(struct lm_text *text, const char *string, size_t length) {
  for (size_t i = 0; i < length; i++) lm_text_char(text, string[i]);
}

void lm_text_string(struct lm_text *text, const char *string) {
  while (*string != 0) lm_text_char(text, *string++);
}

void lm_text_number(struct lm_text *text, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) lm_text_char(text, digits[--count]);
}

/* At most 1023 of a unit, rounded down. */
static const char units[] = "KMGTPE";

void lm_text_bytes(struct lm_text *text, uint64_t bytes) {
  size_t unit = 0;
  uint64_t rest = 0; /* in 1024ths of the unit */
  for (; bytes >= 1024; bytes /= 1024, unit++) rest = bytes % 1024;
  lm_text_number(text, bytes);
  uint64_t hundredths = rest * 100 / 1024;
  if (unit > 0 && bytes < 100) {
    lm_text_char(text, '.');
    lm_text_char(text, (char)('0' + hundredths / 10));
  }
  if (unit > 0 && bytes < 10) lm_text_char(text, (char)('0' + hundredths % 10));
  lm_text_char(text, ' ');
  if (unit > 0) {
    lm_text_char(text, units[unit - 1]);
    lm_text_char(text, 'i');
  }
  lm_text_char(text, 'B');
}

void lm_text_pad(struct lm_text *text, size_t line_start, size_t column) {
  do {
    lm_text_char(text, ' ');
  } while (text->length < text->capacity && text->length < line_start + column);
}

void lm_text_address(struct lm_text *text, uintptr_t address) {
  char digits[2 * sizeof address];
  size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[address & 15];
    address >>= 4;
  } while (address != 0);
  lm_text_string(text, "0x");
  while (count > 0) lm_text_char(text, digits[--count]);
}

void lm_text_path(struct lm_text *text, const char *pattern, uint64_t number) {
  text->capacity--;
  for (const char *c = pattern; *c != 0; c++) {
    if (c[0] == '%' && c[1] == 'p') {
      lm_text_number(text, number);
      c++;
    } else {
      lm_text_char(text, *c);
    }
  }
  text->bytes[text->length] = 0;
}

size_t lm_string_length(const char *string) {
  size_t length = 0;
  while (string[length] != 0) length++;
  return length;
}

bool lm_string_equal(const char *a, size_t a_length, const char *b) {
  size_t i = 0;
  while (i < a_length && b[i] != 0 && a[i] == b[i]) i++;
  return i == a_length && b[i] == 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void lm_string_trim(const char **string, size_t *length) {
  while (*length > 0 && is_blank((*string)[*length - 1])) --*length;
  for (; *length > 0 && is_blank(**string); --*length) ++*string;
}

bool lm_parse_number(const char *string, size_t length, uint64_t *number) {
  uint64_t value = 0;
  if (length == 0) return false;
  for (size_t i = 0; i < length; i++) {
    if (string[i] < '0' || string[i] > '9' || value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + (uint64_t)(string[i] - '0');
  }
  *number = value;
  return true;
}
