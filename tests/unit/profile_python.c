/* What is read of Python's objects: texts, and the line of an instruction by each kind of table. */
#include "unit.h"

#if LM_READS_PYTHON

static uint64_t text_type, bytes_type;

/* An object of bytes: a table. */
static struct {
  int64_t references;
  uint64_t type;
  int64_t length;
  uint64_t hash;
  uint8_t bytes[64];
} table = {1, 0, 0, 0, {0}};

static struct lm_python python_of(unsigned minor) {
  return (struct lm_python){.layout = &python_layouts[minor - FIRST_MINOR],
                            .text_type = (uintptr_t)&text_type,
                            .bytes_type = (uintptr_t)&bytes_type};
}

/* The line by those bytes, of code that begins with line 10; read with and without a look. */
static uint32_t line_in(unsigned minor, const uint8_t *bytes, size_t count, int64_t offset) {
  struct lm_python python = python_of(minor);
  struct lm_python_reader reader = {&python, false}, other = {&python, true};
  uint32_t line = 0, again = 0;
  table.type = (uintptr_t)&bytes_type;
  table.length = (int64_t)count;
  memcpy(table.bytes, bytes, count);
  CHECK(lm_python_find_line(&reader, (uintptr_t)&table, offset, 10, &line));
  CHECK(lm_python_find_line(&other, (uintptr_t)&table, offset, 10, &again));
  CHECK_EQ(line, again);
  return line;
}

static void pairs_add_up_to_the_place(void) {
  /* 0: line 10; 4: line 12; 10: line 9, after a jump of more than a byte of lines has room for. */
  const uint8_t bytes[] = {4, 2, 6, 0x80, 0, 125};
  CHECK_EQ(line_in(8, bytes, sizeof bytes, -1), 10);
  CHECK_EQ(line_in(8, bytes, sizeof bytes, 0), 10);
  CHECK_EQ(line_in(8, bytes, sizeof bytes, 3), 10);
  CHECK_EQ(line_in(9, bytes, sizeof bytes, 4), 12);
  CHECK_EQ(line_in(9, bytes, sizeof bytes, 10), 9);
}

static void ranges_end_before_the_next(void) {
  /* To 4: line 11; to 8: none, as before; to 12: line 8. */
  const uint8_t bytes[] = {4, 1, 4, 0x80, 4, 0xfd};
  CHECK_EQ(line_in(10, bytes, sizeof bytes, 0), 11);
  CHECK_EQ(line_in(10, bytes, sizeof bytes, 2), 11);
  CHECK_EQ(line_in(10, bytes, sizeof bytes, 4), 11);
  CHECK_EQ(line_in(10, bytes, sizeof bytes, 8), 8);
  CHECK_EQ(line_in(10, bytes, sizeof bytes, 100), 8);
}

static void locations_are_of_any_length(void) {
  const uint8_t bytes[] = {
      0x80 | 0 << 3 | 1, 0x12,           /* short, 2 units: line 10 */
      0x80 | 11 << 3 | 0, 3, 4,          /* one line further, 1 unit: 11 */
      0x80 | 13 << 3 | 0, 0x43,          /* without columns: 6 bits and more; back by 65 */
      0x02,
      0x80 | 14 << 3 | 2, 0x40, 0x04, 0, /* long, 3 units: 128 further, and columns */
      1, 1,
      0x80 | 15 << 3 | 0,                /* none, 1 unit */
      0x80 | 12 << 3 | 7, 1, 1,          /* two further, 8 units */
  };
  for (unsigned minor = 11; minor <= 13; minor++) {
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, -2), 10);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 0), 10);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 2), 10);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 4), 11);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 6), 10); /* below 1: where the function begins */
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 8), 11 - 65 + 128);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 14), 11 - 65 + 128);
    CHECK_EQ(line_in(minor, bytes, sizeof bytes, 16), 11 - 65 + 128 + 2);
  }
}

static void a_table_that_is_none_has_no_lines(void) {
  struct lm_python python = python_of(11);
  struct lm_python_reader reader = {&python, false};
  uint32_t line = 7;
  table.type = (uintptr_t)&text_type;
  CHECK(!lm_python_find_line(&reader, (uintptr_t)&table, 0, 10, &line));
  CHECK(!lm_python_find_line(&reader, 0, 0, 10, &line));
  CHECK(!lm_python_find_line(&reader, 8, 0, 10, &line));
  table.type = (uintptr_t)&bytes_type;
  table.length = (int64_t)1 << 40;
  CHECK(!lm_python_find_line(&reader, (uintptr_t)&table, 0, 10, &line));
  CHECK_EQ(line, 7);
}

/* A text as versions from 3.12 on have it. */
static union {
  struct {
    int64_t references;
    uint64_t type;
    int64_t length;
    int64_t hash;
    uint32_t state, unused;
  } head;
  uint8_t bytes[4096];
} text;

static void set_text(const void *characters, size_t width, size_t count, bool ascii) {
  text.head.type = (uintptr_t)&text_type;
  text.head.length = (int64_t)count;
  text.head.state = (uint32_t)(width << 2 | 1 << 5 | (unsigned)ascii << 6);
  memcpy(text.bytes + (ascii ? 40 : 56), characters, width * count);
}

/* Whether it reads as that, both ways. */
static bool reads_as(const char *expected, size_t capacity) {
  struct lm_python python = python_of(12);
  bool good = true;
  for (int trusts = 0; trusts < 2; trusts++) {
    struct lm_python_reader reader = {&python, trusts != 0};
    char buffer[1024];
    size_t bytes = 0;
    const char *found = lm_python_view_text(&reader, (uintptr_t)&text, buffer, capacity, &bytes);
    good &= found != NULL && bytes == strlen(expected) && memcmp(found, expected, bytes) == 0;
  }
  return good;
}

static void texts_are_utf_8_whatever_they_are_kept_in(void) {
  set_text("plain", 1, 5, true);
  CHECK(reads_as("plain", 100));
  CHECK(reads_as("ain", 3));
  set_text("gr\xf6\xdf"
           "e",
           1, 5, false);
  CHECK(reads_as("größe", 100));
  const uint16_t two[] = {0x65e5, 0x672c, 'x', 0xd800};
  set_text(two, 2, 4, false);
  CHECK(reads_as("日本x?", 100));
  const uint32_t four[] = {0x1f600, 'y', 0x110000, 0xe9};
  set_text(four, 4, 4, false);
  CHECK(reads_as("😀y?é", 100));
  uint16_t many[200];
  char expected[601] = "";
  for (size_t i = 0; i < 200; i++) many[i] = 0x65e5;
  for (size_t i = 0; i < 200; i++) strcat(expected, "日");
  set_text(many, 2, 200, false);
  CHECK(reads_as(expected, 1000));
  CHECK(reads_as(expected + 3 * 175, 100)); /* four bytes for each are enough for any */
}

static void what_is_no_text_is_none(void) {
  struct lm_python python = python_of(12);
  struct lm_python_reader reader = {&python, false};
  char buffer[100];
  size_t bytes;
  set_text("plain", 1, 5, true);
  text.head.state &= ~(1u << 5); /* not in one piece */
  CHECK(lm_python_view_text(&reader, (uintptr_t)&text, buffer, 100, &bytes) == NULL);
  set_text("plain", 3, 1, false);
  CHECK(lm_python_view_text(&reader, (uintptr_t)&text, buffer, 100, &bytes) == NULL);
  set_text("plain", 1, 5, true);
  text.head.length = -1;
  CHECK(lm_python_view_text(&reader, (uintptr_t)&text, buffer, 100, &bytes) == NULL);
  CHECK(lm_python_view_text(&reader, 24, buffer, 100, &bytes) == NULL);
}

#endif

int main(void) {
#if LM_READS_PYTHON
  RUN(pairs_add_up_to_the_place);
  RUN(ranges_end_before_the_next);
  RUN(locations_are_of_any_length);
  RUN(a_table_that_is_none_has_no_lines);
  RUN(texts_are_utf_8_whatever_they_are_kept_in);
  RUN(what_is_no_text_is_none);
#endif
  return UNIT_RESULT();
}
