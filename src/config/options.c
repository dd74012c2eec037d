#include "config/options.h"

#include <errno.h>

#include "base/bits.h"
#include "base/format.h"
#include "os/os.h"

/* Whether lm_options_control sets it, too. */
enum when { AT_START, ANY_TIME };

/* The table that everything else follows. A choice is stored as its index. */
struct option {
  const char *name;
  const char *unit;    /* of a number, or what a text is; NULL for a choice */
  const char *choices; /* "first|second|third", the index being the value, or LM_OPTION_WORD of it
                          for words that a number may be instead; NEVER; NULL for others */
  uint64_t minimum, maximum; /* of a text: of its length */
  size_t default_value;
  _Atomic(size_t) *value; /* NULL for a text */
  char *text;             /* with room for `maximum` bytes and a zero; NULL for others */
  enum when when;
  const char *help;
};

/* The word for 0, of a time after which something is done: as a number it would read as at once. */
static const char NEVER[] = "never";

#define CHOICE(name, choices, first, when) \
  NULL, choices, 0, 0, first, &lm_options.name, NULL, when
#define NUMBER(name, unit, minimum, maximum, first, when) \
  unit, NULL, minimum, maximum, first, &lm_options.name, NULL, when
#define NUMBER_OR(name, unit, words, minimum, maximum, first, when) \
  unit, words, minimum, maximum, first, &lm_options.name, NULL, when
#define NUMBER_OR_NEVER(name, unit, maximum, first, when) \
  unit, NEVER, 1, maximum, first, &lm_options.name, NULL, when
#define WORDS(name, what) \
  what, NULL, 1, sizeof lm_options.name - 1, 0, NULL, lm_options.name, AT_START

static const struct option option_table[] = {
    {"options_file", WORDS(options_file, "path"),
     "more options, one in a line; /etc/loam.conf if not given (Linux)"},
    {"help", CHOICE(help, "0|1", 0, AT_START), "print this table at start"},
    {"invalid", CHOICE(invalid, "ignore|end", LM_INVALID_IGNORE, AT_START),
     "what follows the line about a wrong entry; end: the program ends before its main function"},
    {"stats", CHOICE(stats, "off|text|json", LM_STATS_OFF, AT_START), "print statistics at exit"},
    {"stats_fd", NUMBER(stats_fd, "file descriptor", 0, 1048576, 2, AT_START),
     "where they are printed to"},
    {"stats_file", WORDS(stats_file, "path"),
     "a file that they are added to instead; %p is the process's number (Linux)"},
    {"stats_signal", NUMBER(stats_signal, "signal", 0, 64, 0, AT_START),
     "they are also printed when this signal comes; 0: none does that (Linux)"},
    {"purge_delay_ms", NUMBER_OR_NEVER(purge_delay_ms, "milliseconds", 3600000, 500, ANY_TIME),
     "how long empty memory is kept before it goes back to the system; 1: hardly at all"},
    {"cache_bytes", NUMBER_OR(cache_bytes, "bytes", "unlimited|auto", 0, LM_BYTES_MOST,
                              LM_CACHE_AUTO, ANY_TIME),
     "how much free pages pools keep, and how much mappings of huge blocks that were freed"},
    {"heap_cache_bytes", NUMBER_OR(heap_cache_bytes, "bytes", "unlimited|auto", 0,
                                   LM_BYTES_MOST, LM_CACHE_AUTO, ANY_TIME),
     "how much free blocks the caches of all threads together keep"},
    {"holes", CHOICE(holes, "off|on", LM_HOLES_ON, ANY_TIME),
     "whether pages between the blocks in use go back, too"},
    {"background", CHOICE(background, "off|on", LM_BACKGROUND_OFF, AT_START),
     "whether a thread of loam's own gives memory back while the program makes no calls"},
    {"group_limit", CHOICE(group_limit, "start|follow", LM_GROUP_LIMIT_START, ANY_TIME),
     "follow: read the control group's files again as memory grows (Linux), or the job object"},
    {"libc_calls", CHOICE(libc_calls, "off|on", LM_LIBC_CALLS_OFF, AT_START),
     "whether memory goes back by munmap and its like of the C library, which others see (Linux)"},
    {"names", CHOICE(names, "off|start|on", LM_NAMES_START, AT_START),
     "what of loam's memory has names in /proc/self/smaps; start: what is mapped then (Linux)"},
    {"system_calls", CHOICE(system_calls, "all|few", LM_SYSTEM_CALLS_ALL, AT_START),
     "few: no kinds of calls once it runs but those that strict filters let pass (Linux)"},
    {"foreign", CHOICE(foreign, "abort|ignore", LM_FOREIGN_ABORT, ANY_TIME),
     "what free does with an address that is nobody's block"},
    {"deepbind", CHOICE(deepbind, "drop|keep", LM_DEEPBIND_DROP, ANY_TIME),
     "what dlopen does with RTLD_DEEPBIND (Linux, preloaded)"},
    {"aside", WORDS(aside, "list"),
     "programs, with a ':' between them, in which loam steps aside (Linux, preloaded)"},
    {"libc_handle", CHOICE(libc_handle, "loam|libc", LM_LIBC_HANDLE_LOAM, ANY_TIME),
     "whose malloc and free dlsym finds by a handle of the C library (Linux, preloaded)"},
    {"mismatch", CHOICE(mismatch, "abort|ignore|strict", LM_MISMATCH_ABORT, ANY_TIME),
     "what delete does with a size, or a block of malloc, that cannot be; strict: nor is small"},
    {"fill", CHOICE(fill, "off|zero|junk", LM_FILL_OFF, AT_START),
     "what is in blocks that malloc hands out; junk: also in those that are freed"},
    {"huge_pages", CHOICE(huge_pages, "off|system|madvise|always", LM_HUGE_PAGES_SYSTEM, ANY_TIME),
     "whether memory has transparent huge pages (Linux), or large pages (Windows: always)"},
    {"page_size", CHOICE(page_size, "system|2M|1G", LM_PAGE_SIZE_SYSTEM, AT_START),
     "which pages memory has: those of 2 MiB or 1 GiB are set aside (Linux), or large (Windows)"},
    {"guard_ms", NUMBER_OR_NEVER(guard_ms, "milliseconds", 3600000, 0, AT_START),
     "how often a small block of a thread stands between pages without access (Linux)"},
    {"profile", CHOICE(profile, "off|on", LM_PROFILE_OFF, AT_START),
     "take a heap profile, and write it at exit (Linux)"},
    {"profile_bytes", NUMBER(profile_bytes, "bytes", 16, 268435456, 524288, ANY_TIME),
     "how far apart its samples are on average"},
    {"profile_file", WORDS(profile_file, "path"),
     "where it is written to; %p is the process's number; loam.%p.profile if not given"},
    {"profile_signal", NUMBER(profile_signal, "signal", 0, 64, 0, AT_START),
     "it is also written when this signal comes; 0: none does that"},
};
#define OPTION_COUNT (sizeof option_table / sizeof option_table[0])

struct lm_options lm_options = {
    .stats_fd = 2,
    .purge_delay_ms = 500,
    .cache_bytes = LM_CACHE_AUTO,
    .heap_cache_bytes = LM_CACHE_AUTO,
    .holes = LM_HOLES_ON,
    .names = LM_NAMES_START,
    .huge_pages = LM_HUGE_PAGES_SYSTEM,
    .profile_bytes = 524288,
};

/* ---- Printing ---- */

/* As short as it can be without being rounded. */
static void print_size(struct lm_text *text, uint64_t bytes) {
  static const char *const names[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  size_t index = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && index + 1 < sizeof names / sizeof names[0]; index++)
    bytes /= 1024;
  lm_text_number(text, bytes);
  lm_text_string(text, names[index]);
}

static void print_range(struct lm_text *text, const struct option *option) {
  if (option->choices != NULL) lm_text_string(text, option->choices);
  if (option->unit == NULL) return;
  if (option->choices != NULL) lm_text_string(text, " or ");
  if (lm_string_equal(option->unit, lm_string_length(option->unit), "bytes")) {
    print_size(text, option->minimum);
    lm_text_string(text, " to ");
    print_size(text, option->maximum);
    lm_text_string(text, ", in bytes");
    return;
  }
  lm_text_number(text, option->minimum);
  lm_text_string(text, " to ");
  lm_text_number(text, option->maximum);
  lm_text_string(text, option->text != NULL ? " bytes of a " : " ");
  lm_text_string(text, option->unit);
}

static void print_value(struct lm_text *text, const struct option *option, size_t value) {
  if (option->text != NULL) return;
  if (option->choices == NEVER && value == 0) {
    lm_text_string(text, NEVER);
    return;
  }
  if (option->unit != NULL && value <= option->maximum) {
    lm_text_number(text, value);
    return;
  }
  if (option->unit != NULL) value = LM_OPTION_WORD(value);
  const char *choice = option->choices;
  for (; value > 0; value--)
    while (*choice++ != '|') {}
  for (; *choice != 0 && *choice != '|'; choice++) lm_text_char(text, *choice);
}

void lm_options_print_table(void) {
  LM_TEXT(text, 8192);
  lm_text_string(&text, "loam: options, as LOAM_OPTIONS=name=value,name=value\n");
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    lm_text_string(&text, "  ");
    lm_text_string(&text, option_table[i].name);
    lm_text_string(&text, "=");
    print_value(&text, &option_table[i], option_table[i].default_value);
    lm_text_string(&text, "  (");
    print_range(&text, &option_table[i]);
    lm_text_string(&text, option_table[i].when == AT_START ? ", at start)  " : ", any time)  ");
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

uint32_t lm_options_complaint_count;

static void print_about(const struct lm_options_source *source, const char *before,
                        const char *what, size_t length, const char *after) {
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam: ");
  print_what(&text, source->name, lm_string_length(source->name));
  if (source->line != 0) {
    lm_text_string(&text, ":");
    lm_text_number(&text, source->line);
  }
  lm_text_string(&text, ": ");
  lm_text_string(&text, before);
  lm_text_string(&text, "'");
  print_what(&text, what, length);
  lm_text_string(&text, "'");
  lm_text_string(&text, after);
  lm_text_string(&text, "\n");
  lm_os_write(2, text.bytes, text.length);
}

void lm_options_complain(const struct lm_options_source *source, const char *before,
                         const char *what, size_t length, const char *after) {
  lm_options_complaint_count++;
  print_about(source, before, what, length, after);
}

/* ---- Reading a value ---- */

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
  else lm_store_relaxed(option->value, option->default_value);
}

/* The number that reads as at once. */
static bool is_never_as_0(const struct option *option, const char *string, size_t length) {
  return option->choices == NEVER && lm_string_equal(string, length, "0");
}

/* Sets the option, or leaves it as it is. */
static bool parse_value(const struct option *option, const char *string, size_t length) {
  uint64_t value;
  if (option->text != NULL) return parse_text(option, string, length);
  bool good = option->unit != NULL && lm_parse_number(string, length, &value) &&
              value >= option->minimum && value <= option->maximum;
  if (!good && option->choices == NEVER) {
    good = is_never_as_0(option, string, length) || lm_string_equal(string, length, NEVER);
    value = 0;
  } else if (!good && option->choices != NULL) {
    good = parse_choice(option->choices, string, length, &value);
    if (option->unit != NULL) value = LM_OPTION_WORD((size_t)value);
  }
  if (good) lm_store_relaxed(option->value, (size_t)value);
  return good;
}

static const struct option *find_option(const char *name, size_t length) {
  for (size_t i = 0; i < OPTION_COUNT; i++)
    if (lm_string_equal(name, length, option_table[i].name)) return &option_table[i];
  return NULL;
}

/* ---- At start ---- */

static void set_option(const struct lm_options_source *source, const struct option *option,
                       const char *string, size_t length) {
  if (parse_value(option, string, length)) {
    if (is_never_as_0(option, string, length)) /* taken, and so no complaint */
      print_about(source, "0 for ", option->name, lm_string_length(option->name),
                  " is taken for never: write never, or 1 for nearly at once");
    return;
  }
  LM_TEXT(after, 256);
  lm_text_string(&after, " for ");
  lm_text_string(&after, option->name);
  lm_text_string(&after, ": expected ");
  print_range(&after, option);
  lm_text_string(&after, "; ");
  print_value(&after, option, option->default_value);
  lm_text_string(&after, option->text != NULL ? "none is used" : " is used");
  lm_text_span(&after, "", 1);
  use_default(option);
  lm_options_complain(source, "bad value ", string, length, after.bytes);
}

static size_t find_equals(const char *entry, size_t length) {
  size_t at = 0;
  while (at < length && entry[at] != '=') at++;
  return at;
}

size_t lm_options_name_length(const char *entry, size_t length) {
  size_t name_length = find_equals(entry, length);
  lm_string_trim(&entry, &name_length);
  return name_length;
}

void lm_options_set(const struct lm_options_source *source, const char *entry, size_t length) {
  size_t equals = find_equals(entry, length), name_length = lm_options_name_length(entry, length);
  if (equals == length) {
    lm_options_complain(source, "no value in ", entry, length, ": write NAME=VALUE");
    return;
  }
  const char *value = entry + equals + 1;
  size_t value_length = length - equals - 1;
  lm_string_trim(&value, &value_length);
  const struct option *option = find_option(entry, name_length);
  if (option != NULL) set_option(source, option, value, value_length);
  else
    lm_options_complain(source, "unknown option ", entry, name_length, "; help=1 lists them all");
}

/* ---- While the program runs ---- */

/* Copies the value's text and a zero; false if there is no room. */
static bool get_value(const struct option *option, char *get, size_t get_size) {
  LM_TEXT(text, LM_PATH_BYTES + 1);
  if (option->text != NULL) lm_text_string(&text, option->text);
  else print_value(&text, option, lm_load_relaxed(option->value));
  if (text.length >= get_size) return false;
  for (size_t i = 0; i < text.length; i++) get[i] = text.bytes[i];
  get[text.length] = 0;
  return true;
}

int lm_options_control(const char *name, char *get, size_t get_size, const char *set) {
  const struct option *option = name != NULL ? find_option(name, lm_string_length(name)) : NULL;
  if (option == NULL) return ENOENT;
  if (set != NULL && option->when == AT_START) return EPERM;
  if (get != NULL && !get_value(option, get, get_size)) return ERANGE;
  if (set != NULL && !parse_value(option, set, lm_string_length(set))) return EINVAL;
  return 0;
}
