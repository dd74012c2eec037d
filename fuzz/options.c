// builds: fast
// arguments: 1
/* Differential fuzzing of what reads options, as the environment has them or as a file does: a
 * second reader, made of the C library's functions, says what each option must be and how many
 * complaints there are. What was read is then set once more while the program runs. */
#define CHECK_FAILED_END() abort()
#include "../tests/unit/unit.h"

#include "bytes.h"
#include "drive.h"

#include <sys/mman.h>

enum { TEXT_MAX = 8192 };
static char text[TEXT_MAX + 1];

/* ---- The input as a text: half of it words that mean something ---- */

static const char *const words[] = {
    "help", "stats", "stats_fd", "stats_file", "stats_signal", "purge_delay_ms", "foreign",
    "deepbind", "mismatch", "huge_pages", "page_size", "cache_bytes", "heap_cache_bytes", "holes",
    "group_limit", "start", "follow", "unlimited", "auto", "never", "always", "2M", "=", "=", "=", ",", ",", "0", "1", "off", "on", "text",
    "json", "abort", "ignore", "drop", "keep", "2", "64", "65", "3600000", "3600001", "1048576",
    "18446744073709551615", "18446744073709551616", "/tmp/%p", "|", "off|text", "\n", "\n#", " ",
};

static void make_text(struct fuzz_bytes *input) {
  size_t length = 0;
  while (input->left > 0 && length < TEXT_MAX) {
    unsigned byte = take_byte(input);
    if (byte < 160) {
      const char *word = words[byte % COUNT_OF(words)];
      for (; *word != 0 && length < TEXT_MAX; word++) text[length++] = *word;
    } else if (byte < 165) {
      for (unsigned i = take_byte(input) * 6; i > 0 && length < TEXT_MAX; i--) text[length++] = 'x';
    } else {
      text[length++] = (char)take_byte(input);
    }
  }
  text[length] = 0;
}

/* A path that names what is written to it. */
static FILE *options_file;
static char file_entry[64];

static void write_file(void) {
  if (options_file == NULL) options_file = tmpfile();
  CHECK(options_file != NULL);
  CHECK_EQ(ftruncate(fileno(options_file), 0), 0);
  CHECK_EQ(pwrite(fileno(options_file), text, strlen(text), 0), (ssize_t)strlen(text));
  snprintf(file_entry, sizeof file_entry, "options_file=/proc/self/fd/%d", fileno(options_file));
}

/* ---- The second reader ---- */

struct expected {
  uint64_t numbers[OPTION_COUNT];
  char texts[OPTION_COUNT][LM_PATH_BYTES];
  unsigned complaints;
};
static struct expected expected;

static bool number_of(const char *value, uint64_t *number) {
  if (value[0] == 0 || strspn(value, "0123456789") != strlen(value)) return false;
  errno = 0;
  *number = strtoull(value, NULL, 10);
  return errno == 0;
}

static bool choice_of(const char *value, const char *choices, uint64_t *number) {
  char copy[256], *rest = copy, *choice;
  strcpy(copy, choices);
  for (*number = 0; (choice = strsep(&rest, "|")) != NULL; ++*number)
    if (strcmp(choice, value) == 0) return true;
  return false;
}

static void expect_value(size_t i, const char *value) {
  const struct option *option = &option_table[i];
  uint64_t number = option->default_value;
  bool good;
  if (option->text != NULL) {
    good = value[0] != 0 && strlen(value) < LM_PATH_BYTES;
    strcpy(expected.texts[i], good ? value : "");
  } else {
    good = option->unit != NULL && number_of(value, &number) && number >= option->minimum &&
           number <= option->maximum;
    if (!good && option->choices != NULL) {
      good = choice_of(value, option->choices, &number);
      if (option->unit != NULL) number = SIZE_MAX - number;
    }
    expected.numbers[i] = good ? number : option->default_value;
  }
  expected.complaints += !good;
}

/* Without the blanks around it. */
static char *trimmed(char *string) {
  static const char blanks[] = " \t\r";
  string += strspn(string, blanks);
  size_t length = strlen(string);
  while (length > 0 && strchr(blanks, string[length - 1]) != NULL) length--;
  string[length] = 0;
  return string;
}

static void expect_entry(char *entry) {
  char *value = strchr(entry, '=');
  if (value != NULL) {
    *value++ = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
      if (strcmp(trimmed(entry), option_table[i].name) != 0) continue;
      expect_value(i, trimmed(value));
      return;
    }
  }
  expected.complaints++;
}

static void expect_defaults(void) {
  memset(&expected, 0, sizeof expected);
  for (size_t i = 0; i < OPTION_COUNT; i++) expected.numbers[i] = option_table[i].default_value;
}

static bool is_of_file(const char *entry) {
  static const char name[] = "options_file";
  if (strncmp(entry, name, sizeof name - 1) != 0) return false;
  entry += sizeof name - 1;
  return entry[strspn(entry, " \t\r")] == '=';
}

static void expect_entries(char *rest) {
  char *entry;
  while ((entry = strsep(&rest, ",")) != NULL) {
    entry = trimmed(entry);
    if (entry[0] != 0 && !is_of_file(entry)) expect_entry(entry);
  }
}

static void expect_lines(char *rest) {
  char *line;
  while ((line = strsep(&rest, "\n")) != NULL) {
    line = trimmed(line);
    if (line[0] == '#') continue;
    if (is_of_file(line)) expected.complaints++;
    else expect_entries(line);
  }
}

static void expect(bool in_file) {
  static char copy[TEXT_MAX + 1];
  strcpy(copy, text);
  if (in_file) expect_lines(copy);
  else expect_entries(copy);
}

/* ---- What is printed ---- */

static FILE *printed_to;

/* Reads the options with what they print in a file. */
static void read_printing(bool in_file) {
  if (printed_to == NULL) printed_to = tmpfile();
  CHECK(printed_to != NULL);
  CHECK_EQ(ftruncate(fileno(printed_to), 0), 0);
  CHECK_EQ(lseek(fileno(printed_to), 0, SEEK_SET), 0);
  int saved = dup(2);
  CHECK_EQ(dup2(fileno(printed_to), 2), 2);
  if (in_file) write_file();
  lm_options_start(NULL, in_file ? file_entry : text);
  CHECK_EQ(dup2(saved, 2), 2);
  close(saved);
}

/* One line for each complaint, without control characters. */
static void check_complaints(void) {
  char line[1024];
  unsigned complaints = 0;
  rewind(printed_to);
  while (fgets(line, sizeof line, printed_to) != NULL) {
    size_t length = strlen(line);
    complaints += strncmp(line, "loam: LOAM_OPTIONS: ", 20) == 0 ||
                  strncmp(line, "loam: /proc/self/fd/", 20) == 0;
    CHECK(length > 1 && line[length - 1] == '\n');
    for (size_t i = 0; i + 1 < length; i++) CHECK((unsigned char)line[i] >= ' ' && line[i] != 127);
  }
  CHECK_EQ(complaints, expected.complaints);
}

/* What an option is set to is what it is. */
static void check_control(const struct option *option) {
  char value[LM_PATH_BYTES];
  CHECK_EQ(lm_options_control(option->name, value, sizeof value, NULL), 0);
  if (option->text != NULL) CHECK_EQ(strcmp(value, option->text), 0);
  if (option->when == AT_START) return;
  size_t number = *option->value;
  use_default(option);
  CHECK_EQ(lm_options_control(option->name, NULL, 0, value), 0);
  CHECK_EQ(*option->value, number);
}

void fuzz_one(const uint8_t *bytes, size_t size) {
  struct fuzz_bytes input = {bytes, size};
  bool in_file = take_byte(&input) % 2 != 0;
  make_text(&input);
  drive_tell("%s", text);
  for (size_t i = 0; i < OPTION_COUNT; i++) use_default(&option_table[i]);
  expect_defaults();
  expect(in_file);
  read_printing(in_file);
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    if (option_table[i].text == lm_options.options_file) continue;
    if (option_table[i].text != NULL) CHECK_EQ(strcmp(option_table[i].text, expected.texts[i]), 0);
    else CHECK_EQ(*option_table[i].value, expected.numbers[i]);
    check_control(&option_table[i]);
  }
  check_complaints();
}
