#include "os/panic.h"

#include "os/os.h"

void lm_panic(struct lm_text *text) {
  if (text->length == text->capacity) text->length--;
  lm_text_char(text, '\n');
  lm_os_write(2, text->bytes, text->length);
  lm_os_abort();
}

void lm_assert_failed(const char *expression, const char *file, int line) {
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam: internal error: ");
  lm_text_string(&text, expression);
  lm_text_string(&text, " does not hold in ");
  lm_text_string(&text, file);
  lm_text_string(&text, ":");
  lm_text_number(&text, (uint64_t)line);
  lm_panic(&text);
}
