#include "config/options.h"

#include "base/bits.h"
#include "base/format.h"
#include "os/os.h"

/* The table that everything else follows. A choice is stored as its index. */
struct option {
  const char *name;
  const char *unit;    /* of a number, or what a text is; NULL for a choice */
  const char *choices; /* "first|second|third", the index being the value; NULL for others */
  uint64_t minimum, maximum; /* of a text: of its length */
  uint64_t default_value;
  uint64_t *value; /* NULL for a text */
  char *text;      /* with room for `maximum` bytes and a zero; NULL for others */
  const char *help;
};

#define CHOICE(name, choices, first) NULL, choices, 0, 0, first, &lm_options.name, NULL
#define NUMBER(name, unit, minimum, maximum, first) \
  unit, NULL, minimum, maximum, first, &lm_options.name, NULL
#define WORDS(name, what) \
  what, NULL, 1, sizeof lm_options.name - 1, 0, NULL, lm_options.name

static const struct option option_table[] = {
    {"help", CHOICE(help, "0|1", 0), "print this table at start"},
    {"stats", CHOICE(stats, "off|text|json", LM_STATS_OFF), "print statistics at exit"},
    {"stats_fd", NUMBER(stats_fd, "file descriptor", 0, 1048576, 2), "where they are printed to"},
    {"stats_file", WORDS(stats_file, "path"),
     "a file that they are added to instead; %p is the process's number (Linux)"},
    {"stats_signal", NUMBER(stats_signal, "signal", 0, 64, 0),
     "they are also printed when this signal comes; 0: none does that (Linux)"},
    {"purge_delay_ms", NUMBER(purge_delay_ms, "milliseconds", 0, 3600000, 500),
     "how long empty memory is kept before it goes back to the system; 0: it never does"},
    {"background", CHOICE(background, "off|on", LM_BACKGROUND_OFF),
     "whether a thread of loam's own gives memory back while the program makes no calls"},
    {"foreign", CHOICE(foreign, "abort|ignore", LM_FOREIGN_ABORT),
     "what free does with an address that is nobody's block"},
    {"deepbind", CHOICE(deepbind, "drop|keep", LM_DEEPBIND_DROP),
     "what dlopen does with RTLD_DEEPBIND (Linux, preloaded)"},
    {"mismatch", CHOICE(mismatch, "abort|ignore", LM_MISMATCH_ABORT),
     "what delete does with a size, or with a block of malloc, that cannot be"},
    {"huge_pages", CHOICE(huge_pages, "off|on", LM_HUGE_PAGES_OFF),
     "whether the system is asked for huge pages (Linux)"},
    {"profile", CHOICE(profile, "off|on", LM_PROFILE_OFF),
     "take a heap profile, and write it at exit (Linux)"},
    {"profile_bytes", NUMBER(profile_bytes, "bytes", 16, 268435456, 524288),
     "how far apart its samples are on average"},
    {"profile_file", WORDS(profile_file, "path"),
     "where it is written to; %p is the process's number; loam.%p.profile if not given"},
    {"profile_signal", NUMBER(profile_signal, "signal", 0, 64, 0),
     "it is also written when this signal comes; 0: none does that"},
};
#define OPTION_COUNT (sizeof option_table / sizeof option_table[0])

struct lm_options lm_options = {.stats_fd = 2, .purge_delay_ms = 500, .profile_bytes = 524288};

static void print_range(struct lm_text *text, const struct option *option) {
  if (option->choices != NULL) {
    lm_text_string(text, option->choices);
    return;
  }
  lm_text_number(text, option->minimum);
  lm_text_string(text, " to ");
  lm_text_number(text, option->maximum);
  lm_text_string(text, option->text != NULL ? " bytes of a " : " ");
  lm_text_string(text, option->unit);
}

static void print_value(struct lm_text *text, const struct option *option, uint64_t value) {
  if (option->choices == NULL) {
    if (option->text == NULL) lm_text_number(text, value);
    return;
  }
  const char *choice = option->choices;
  for (; value > 0; value--)
    while (*choice++ != '|') {}
  for (; *choice != 0 && *choice != '|'; choice++) lm_text_char(text, *choice);
}

static void print_table(void) {
  LM_TEXT(text, 4096);
  lm_text_string(&text, "loam: options, as LOAM_OPTIONS=name=value,name=value\n");
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    lm_text_string(&text, "  ");
    lm_text_string(&text, option_table[i].name);
    lm_text_string(&text, "=");
    print_value(&text, &option_table[i], option_table[i].default_value);
    lm_text_string(&text, "  (");
    print_range(&text, &option_table[i]);
    lm_text_string(&text, ")  ");
    lm_text_string(&text, option_table[i].help);
    lm_text_string(&text, "\n");
  }
  lm_os_write(2, text.bytes, text.length);
}

/* In one line, and without a terminal's commands; cut if it is long. */
static void print_what(struct lm_text *text, const char *what, size_t length) {
  for (size_t i = 0; i < lm_min(length, 100); i++) {
    bool is_control = (unsigned char)what[i] < ' ' || what[i] == 127;
    lm_text_char(text, is_control ? '?' : what[i]);
  }
}

/* Prints "loam: LOAM_OPTIONS: <before>'<what>'<after>\n". */
static void complain(const char *before, const char *what, size_t length, struct lm_text *after) {
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam: LOAM_OPTIONS: ");
  lm_text_string(&text, before);
  lm_text_string(&text, "'");
  print_what(&text, what, length);
  lm_text_string(&text, "'");
  lm_text_span(&text, after->bytes, after->length);
  lm_text_string(&text, "\n");
  lm_os_write(2, text.bytes, text.length);
}

static bool parse_choice(const char *choices, const char *string, size_t length,
                         uint64_t *value) {
  for (*value = 0;; ++*value) {
    size_t choice_length = 0;
    while (choices[choice_length] != 0 && choices[choice_length] != '|') choice_length++;
    size_t i = 0;
    while (i < length && i < choice_length && string[i] == choices[i]) i++;
    if (i == length && i == choice_length) return true;
    if (choices[choice_length] == 0) return false;
    choices += choice_length + 1;
  }
}

static bool parse_text(const struct option *option, const char *string, size_t length) {
  if (length < option->minimum || length > option->maximum) return false;
  for (size_t i = 0; i < length; i++) option->text[i] = string[i];
  option->text[length] = 0;
  return true;
}

static void use_default(const struct option *option) {
  if (option->text != NULL) option->text[0] = 0;
  else *option->value = option->default_value;
}

static bool parse_value(const struct option *option, const char *string, size_t length) {
  uint64_t value;
  if (option->text != NULL) return parse_text(option, string, length);
  bool good = option->choices != NULL
                  ? parse_choice(option->choices, string, length, &value)
                  : lm_parse_number(string, length, &value) && value >= option->minimum &&
                        value <= option->maximum;
  if (good) *option->value = value;
  return good;
}

static void set_option(const struct option *option, const char *string, size_t length) {
  if (parse_value(option, string, length)) return;
  LM_TEXT(after, 256);
  lm_text_string(&after, " for ");
  lm_text_string(&after, option->name);
  lm_text_string(&after, ": expected ");
  print_range(&after, option);
  lm_text_string(&after, "; ");
  print_value(&after, option, option->default_value);
  lm_text_string(&after, option->text != NULL ? "none is used" : " is used");
  use_default(option);
  complain("bad value ", string, length, &after);
}

static void read_entry(const char *entry, size_t length) {
  LM_TEXT(after, 64);
  size_t name_length = 0;
  while (name_length < length && entry[name_length] != '=') name_length++;
  if (name_length == length) {
    lm_text_string(&after, ": write NAME=VALUE");
    complain("no value in ", entry, length, &after);
    return;
  }
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    if (!lm_string_equal(entry, name_length, option_table[i].name)) continue;
    set_option(&option_table[i], entry + name_length + 1, length - name_length - 1);
    return;
  }
  lm_text_string(&after, "; help=1 lists them all");
  complain("unknown option ", entry, name_length, &after);
}

void lm_options_read(const char *text) {
  if (text == NULL) return;
  while (*text != 0) {
    size_t length = 0;
    while (text[length] != 0 && text[length] != ',') length++;
    if (length > 0) read_entry(text, length);
    text += length + (text[length] == ',');
  }
  if (lm_options.help != 0) print_table();
}
