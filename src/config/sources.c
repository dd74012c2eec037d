/* Where options come from: the program's own text, a file, the environment. */
#include "config/options.h"

#include "base/bits.h"
#include "base/format.h"
#include "os/os.h"
#include "os/reason.h"

static bool names_file(const char *entry, size_t length) {
  size_t name_length = lm_options_name_length(entry, length);
  return name_length < length && lm_string_equal(entry, name_length, "options_file");
}

/* Which file there is must be known before anything else is set. */
enum pass { FOR_FILE, FOR_OTHERS };

/* Entries with commas between them. */
static void read_entries(const struct lm_options_source *source, const char *text, size_t length,
                         enum pass pass) {
  for (size_t start = 0, end; start < length; start = end + 1) {
    for (end = start; end < length && text[end] != ',';) end++;
    const char *entry = text + start;
    size_t entry_length = end - start;
    lm_string_trim(&entry, &entry_length);
    if (entry_length == 0 || names_file(entry, entry_length) != (pass == FOR_FILE)) continue;
    lm_options_set(source, entry, entry_length);
  }
}

static void read_text(const char *name, const char *text, enum pass pass) {
  const struct lm_options_source source = {name, 0};
  if (text != NULL) read_entries(&source, text, lm_string_length(text), pass);
}

/* ---- The file: entries in lines, and lines that begin with # ---- */

static void read_line(const struct lm_options_source *source, const char *line, size_t length) {
  lm_string_trim(&line, &length);
  if (length == 0 || *line == '#') return;
  if (names_file(line, length))
    lm_options_complain(source, "", line, length, ": a file cannot name another one");
  else read_entries(source, line, length, FOR_OTHERS);
}

typedef void line_reader(const struct lm_options_source *source, const char *line, size_t length);

static void read_lines(const char *path, const char *text, size_t length, line_reader *read) {
  struct lm_options_source source = {path, 0};
  for (size_t start = 0, end; start < length; start = end + 1) {
    for (end = start; end < length && text[end] != '\n';) end++;
    source.line++;
    read(&source, text + start, end - start);
  }
}

/* No memory stands behind it until it is used. */
static char options_file_text[LM_OPTIONS_FILE_BYTES + 1];

/* One that nobody has named may be missing, or not be for this process. */
static void read_file(void) {
  const struct lm_options_source source = {"options_file", 0};
  bool named = lm_options.options_file[0] != 0;
  const char *path = named ? lm_options.options_file : LM_OPTIONS_FILE;
  size_t length = 0;
  if (path == NULL) return;
  int error = lm_os_read_file(path, options_file_text, sizeof options_file_text, &length);
  LM_TEXT(after, 64);
  lm_text_string(&after, " cannot be read: ");
  lm_text_reason(&after, error);
  lm_text_span(&after, "", 1);
  if (error != 0 && named)
    lm_options_complain(&source, "", path, lm_string_length(path), after.bytes);
  else if (length > LM_OPTIONS_FILE_BYTES)
    lm_options_complain(&source, "", path, lm_string_length(path),
                        " is longer than 16 KiB: not read");
  else read_lines(path, options_file_text, length, read_line);
}

static void read_line_of_aside(const struct lm_options_source *source, const char *line,
                               size_t length) {
  lm_string_trim(&line, &length);
  size_t name_length = lm_options_name_length(line, length);
  if (lm_string_equal(line, name_length, "aside") && name_length < length)
    lm_options_set(source, line, length);
}

void lm_options_start_privileged(void) {
  size_t length = 0;
  const char *path = LM_OPTIONS_FILE;
  if (path == NULL ||
      lm_os_read_file(path, options_file_text, sizeof options_file_text, &length) != 0 ||
      length > LM_OPTIONS_FILE_BYTES)
    return;
  read_lines(path, options_file_text, length, read_line_of_aside);
}

void lm_options_start(const char *embedded, const char *environment) {
  read_text("loam_options", embedded, FOR_FILE);
  read_text("LOAM_OPTIONS", environment, FOR_FILE);
  read_text("loam_options", embedded, FOR_OTHERS);
  read_file();
  read_text("LOAM_OPTIONS", environment, FOR_OTHERS);
  if (LM_OPTION(help) != 0) lm_options_print_table();
  if (lm_options_complaint_count != 0 && LM_OPTION(invalid) == LM_INVALID_END)
    lm_os_exit(LM_INVALID_STATUS);
}
