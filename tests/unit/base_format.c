/* Text in fixed buffers, and numbers read from text. */
#include "unit.h"

static void check_text(const struct lm_text *text, const char *expected) {
  CHECK_EQ(text->length, strlen(expected));
  CHECK_EQ(memcmp(text->bytes, expected, text->length), 0);
}

static void numbers_are_decimal_and_addresses_hexadecimal(void) {
  LM_TEXT(text, 128);
  lm_text_number(&text, 0);
  lm_text_char(&text, ' ');
  lm_text_number(&text, UINT64_MAX);
  lm_text_char(&text, ' ');
  lm_text_address(&text, 0xbeef);
  lm_text_char(&text, ' ');
  lm_text_address(&text, 0);
  check_text(&text, "0 18446744073709551615 0xbeef 0x0");
}

static void what_does_not_fit_is_cut(void) {
  LM_TEXT(text, 4);
  lm_text_string(&text, "abc");
  lm_text_number(&text, 123);
  check_text(&text, "abc1");
}

static void strings_are_equal_when_length_and_bytes_are(void) {
  CHECK(lm_string_equal("abcd", 3, "abc"));
  CHECK(!lm_string_equal("abc", 3, "abcd"));
  CHECK(!lm_string_equal("abcd", 4, "abc"));
  CHECK(!lm_string_equal("abd", 3, "abc"));
}

static void numbers_are_read_whole_or_not_at_all(void) {
  uint64_t number = 7;
  CHECK(lm_parse_number("0", 1, &number) && number == 0);
  CHECK(lm_parse_number("1234x", 4, &number) && number == 1234);
  CHECK(!lm_parse_number("", 0, &number));
  CHECK(!lm_parse_number("12x", 3, &number));
  CHECK(!lm_parse_number("-1", 2, &number));
  CHECK(!lm_parse_number("99999999999999999999", 20, &number));
  CHECK_EQ(number, 1234);
}

int main(void) {
  RUN(numbers_are_decimal_and_addresses_hexadecimal);
  RUN(what_does_not_fit_is_cut);
  RUN(strings_are_equal_when_length_and_bytes_are);
  RUN(numbers_are_read_whole_or_not_at_all);
  return UNIT_RESULT();
}
