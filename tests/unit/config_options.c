/* The options: what is taken from each source, and what is complained about. */
#include "unit.h"

#include <sys/stat.h>

static char printed[8192];

/* Reads the options and collects what is printed to standard error. */
static void start_and_collect(const char *embedded, const char *environment) {
  int ends[2], saved = dup(2);
  CHECK_EQ(pipe(ends), 0);
  dup2(ends[1], 2);
  lm_options_start(embedded, environment);
  dup2(saved, 2);
  close(ends[1]);
  ssize_t length = read(ends[0], printed, sizeof printed - 1);
  CHECK(length >= 0);
  printed[length] = 0;
  close(ends[0]);
  close(saved);
}

static void read_and_collect(const char *text) { start_and_collect(NULL, text); }

static void check_printed(const char *expected) {
  if (strcmp(printed, expected) != 0) fprintf(stderr, "printed: %s\n", printed);
  CHECK_EQ(strcmp(printed, expected), 0);
}

static void defaults_stand_where_nothing_is_said(void) {
  read_and_collect(NULL);
  read_and_collect("");
  check_printed("");
  CHECK_EQ(lm_options.purge_delay_ms, 500);
  CHECK_EQ(lm_options.stats, LM_STATS_OFF);
  CHECK_EQ(lm_options.stats_fd, 2);
  CHECK_EQ(lm_options.foreign, LM_FOREIGN_ABORT);
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_SYSTEM);
  CHECK_EQ(lm_options.mismatch, LM_MISMATCH_ABORT);
}

static void the_tables_defaults_are_the_initial_values(void) {
  for (size_t i = 0; i < OPTION_COUNT; i++)
    if (option_table[i].text != NULL) CHECK_EQ(option_table[i].text[0], 0);
    else CHECK_EQ(*option_table[i].value, option_table[i].default_value);
}

static void several_entries_are_taken_and_empty_ones_skipped(void) {
  read_and_collect(",stats=json,,purge_delay_ms=never,foreign=ignore,huge_pages=always,");
  check_printed("");
  CHECK_EQ(lm_options.stats, LM_STATS_JSON);
  CHECK_EQ(lm_options.purge_delay_ms, 0);
  CHECK_EQ(lm_options.foreign, LM_FOREIGN_IGNORE);
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_ALWAYS);
}

static void a_text_is_taken_as_it_is_and_no_longer_than_there_is_room(void) {
  static char entry[LM_PATH_BYTES + 32] = "stats_file=";
  read_and_collect("stats_file=/tmp/a b.%p=1");
  check_printed("");
  CHECK_EQ(strcmp(lm_options.stats_file, "/tmp/a b.%p=1"), 0);
  memset(strchr(entry, 0), 'x', LM_PATH_BYTES - 1);
  read_and_collect(entry);
  check_printed("");
  CHECK_EQ(strlen(lm_options.stats_file), LM_PATH_BYTES - 1);
  *strchr(entry, 0) = 'x';
  read_and_collect(entry);
  CHECK(strstr(printed, "for stats_file: expected 1 to 1023 bytes of a path; none is used\n") !=
        NULL);
  CHECK_EQ(lm_options.stats_file[0], 0);
}

static void an_unknown_option_is_complained_about(void) {
  read_and_collect("colour=red,stats=text");
  check_printed("loam: LOAM_OPTIONS: unknown option 'colour'; help=1 lists them all\n");
  CHECK_EQ(lm_options.stats, LM_STATS_TEXT);
}

static void a_value_out_of_range_gives_the_default(void) {
  read_and_collect("purge_delay_ms=3600001");
  check_printed("loam: LOAM_OPTIONS: bad value '3600001' for purge_delay_ms: expected never or 1 to "
                "3600000 milliseconds; 500 is used\n");
  CHECK_EQ(lm_options.purge_delay_ms, 500);
}

static void a_time_that_never_comes_is_a_word_and_0_says_what_it_means(void) {
  char value[32];
  lm_options_complaint_count = 0;
  read_and_collect("purge_delay_ms=0,guard_ms=never");
  check_printed("loam: LOAM_OPTIONS: 0 for 'purge_delay_ms' is taken for never: write never, or 1 for "
                "nearly at once\n");
  CHECK_EQ(lm_options_complaint_count, 0);
  CHECK_EQ(lm_options.purge_delay_ms, 0);
  CHECK_EQ(lm_options_control("purge_delay_ms", value, sizeof value, "1"), 0);
  CHECK_EQ(strcmp(value, "never"), 0);
  CHECK_EQ(lm_options_control("purge_delay_ms", value, sizeof value, "never"), 0);
  CHECK_EQ(strcmp(value, "1"), 0);
  CHECK_EQ(lm_options_control("purge_delay_ms", NULL, 0, "0"), 0);
  CHECK_EQ(lm_options.purge_delay_ms, 0);
}

static void a_number_may_be_a_word_instead(void) {
  char value[32];
  CHECK_EQ(lm_options.cache_bytes, LM_CACHE_AUTO);
  read_and_collect("cache_bytes=unlimited,heap_cache_bytes=0");
  CHECK_EQ(lm_options.cache_bytes, SIZE_MAX);
  CHECK_EQ(lm_options.heap_cache_bytes, 0);
  CHECK_EQ(lm_options_control("cache_bytes", value, sizeof value, "12345"), 0);
  CHECK_EQ(strcmp(value, "unlimited"), 0);
  CHECK_EQ(lm_options_control("cache_bytes", value, sizeof value, "auto"), 0);
  CHECK_EQ(strcmp(value, "12345"), 0);
  CHECK_EQ(lm_options.cache_bytes, LM_CACHE_AUTO);
  read_and_collect("heap_cache_bytes=few,cache_bytes=18446744073709551615");
  CHECK(strstr(printed, "'few' for heap_cache_bytes: expected unlimited|auto or 0 bytes to ") != NULL);
  CHECK(strstr(printed, ", in bytes; auto is used\n") != NULL);
}

static void a_choice_must_match_whole(void) {
  read_and_collect("stats=js");
  check_printed("loam: LOAM_OPTIONS: bad value 'js' for stats: expected off|text|json; off is "
                "used\n");
  read_and_collect("huge_pages=1");
  check_printed("loam: LOAM_OPTIONS: bad value '1' for huge_pages: expected "
                "off|system|madvise|always; system is used\n");
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_SYSTEM);
  CHECK_EQ(lm_options.mismatch, LM_MISMATCH_ABORT);
  read_and_collect("stats=jsonx");
  CHECK_EQ(lm_options.stats, LM_STATS_OFF);
  CHECK(printed[0] != 0);
}

static void an_entry_without_a_value_is_complained_about(void) {
  read_and_collect("stats");
  check_printed("loam: LOAM_OPTIONS: no value in 'stats': write NAME=VALUE\n");
}

static void long_rubbish_is_cut(void) {
  static char rubbish[4096];
  memset(rubbish, 'a', sizeof rubbish - 1);
  read_and_collect(rubbish);
  CHECK_THAT(strlen(printed), <, 200);
  CHECK_EQ(printed[strlen(printed) - 1], '\n');
}

static void what_is_complained_about_stays_in_its_line(void) {
  read_and_collect("a\nloam: b\033[2J");
  check_printed("loam: LOAM_OPTIONS: no value in 'a?loam: b?[2J': write NAME=VALUE\n");
}

static void help_lists_every_option(void) {
  read_and_collect("help=1");
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    CHECK(strstr(printed, option_table[i].name) != NULL);
    CHECK(strstr(printed, option_table[i].help) != NULL);
  }
}

/* ---- The program's own text, and the file ---- */

static char file_path[] = "/tmp/loam-options-XXXXXX";

/* Reads the options with such a file, which LOAM_OPTIONS names in front of other entries. */
static void read_file_and_collect(const char *text, size_t length, const char *environment) {
  char entries[256];
  FILE *file = fopen(file_path, "w");
  CHECK(file != NULL);
  CHECK_EQ(fwrite(text, 1, length, file), length);
  fclose(file);
  snprintf(entries, sizeof entries, "%s,options_file=%s", environment, file_path);
  read_and_collect(entries);
}

static void a_later_source_counts(void) {
  static const char text[] = "stats_fd=20\nprofile_bytes=200\n";
  start_and_collect("stats_fd=10,profile_bytes=100,stats_signal=10", NULL);
  CHECK_EQ(lm_options.stats_fd, 10);
  read_file_and_collect(text, sizeof text - 1, "profile_bytes=300");
  check_printed("");
  CHECK_EQ(lm_options.stats_signal, 10);
  CHECK_EQ(lm_options.stats_fd, 20);
  CHECK_EQ(lm_options.profile_bytes, 300);
}

static void the_programs_own_text_may_name_a_file_and_the_environment_another(void) {
  char entries[256];
  snprintf(entries, sizeof entries, "options_file=%s", file_path);
  read_file_and_collect("stats_fd=30", 11, "");
  lm_options.stats_fd = 2;
  start_and_collect(entries, NULL);
  CHECK_EQ(lm_options.stats_fd, 30);
  lm_options.stats_fd = 2;
  start_and_collect(entries, "options_file=/dev/null");
  check_printed("");
  CHECK_EQ(lm_options.stats_fd, 2);
}

static void a_file_has_lines_blanks_and_comments(void) {
  static const char text[] = "# stats_fd=1\n\n \t stats_fd=40 \r\nstats=json,foreign=ignore\n"
                             "  # last\nstats_signal=4";
  read_file_and_collect(text, sizeof text - 1, "");
  check_printed("");
  CHECK_EQ(lm_options.stats_fd, 40);
  CHECK_EQ(lm_options.stats, LM_STATS_JSON);
  CHECK_EQ(lm_options.foreign, LM_FOREIGN_IGNORE);
  CHECK_EQ(lm_options.stats_signal, 4);
}

static void blanks_around_names_and_values_are_passed_over(void) {
  static const char text[] = " stats = text\t\nforeign =ignore , stats_fd\t= 40, ,\n"
                             "stats_file = /tmp/a b \n options_file = /dev/null\n";
  char expected[1024], entry[256];
  read_file_and_collect(text, sizeof text - 1, "stats_signal = 4");
  snprintf(expected, sizeof expected,
           "loam: %s:4: 'options_file = /dev/null': a file cannot name another one\n", file_path);
  check_printed(expected);
  CHECK_EQ(lm_options.stats, LM_STATS_TEXT);
  CHECK_EQ(lm_options.foreign, LM_FOREIGN_IGNORE);
  CHECK_EQ(lm_options.stats_fd, 40);
  CHECK_EQ(lm_options.stats_signal, 4);
  CHECK_EQ(strcmp(lm_options.stats_file, "/tmp/a b"), 0);
  snprintf(entry, sizeof entry, "stats_fd=1, options_file = %s", file_path);
  read_and_collect(entry);
  check_printed(expected);
  CHECK_EQ(lm_options.stats_fd, 1);
}

static void what_is_wrong_in_a_file_is_said_with_its_line(void) {
  static const char text[] = "stats=text\ncolour=red\n\n\nstats=\0\033\noptions_file=/dev/null\n";
  char expected[1024];
  read_file_and_collect(text, sizeof text - 1, "");
  snprintf(expected, sizeof expected,
           "loam: %s:2: unknown option 'colour'; help=1 lists them all\n"
           "loam: %s:5: bad value '?\?' for stats: expected off|text|json; off is used\n"
           "loam: %s:6: 'options_file=/dev/null': a file cannot name another one\n",
           file_path, file_path, file_path);
  check_printed(expected);
}

static void a_file_that_is_named_and_cannot_be_read_is_said(void) {
  read_and_collect("options_file=/tmp/no such folder/file");
  check_printed("loam: options_file: '/tmp/no such folder/file' cannot be read: no such file or directory\n");
  read_and_collect("options_file=/tmp");
  check_printed("loam: options_file: '/tmp' cannot be read: is a directory\n");
}

static void a_file_is_read_up_to_a_limit_or_not_at_all(void) {
  static char text[LM_OPTIONS_FILE_BYTES + 1];
  memset(text, '#', sizeof text);
  memcpy(text, "stats_fd=50\n", 12);
  read_file_and_collect(text, LM_OPTIONS_FILE_BYTES, "");
  check_printed("");
  CHECK_EQ(lm_options.stats_fd, 50);
  lm_options.stats_fd = 2;
  read_file_and_collect(text, LM_OPTIONS_FILE_BYTES + 1, "");
  CHECK(strstr(printed, "is longer than 16 KiB: not read\n") != NULL);
  read_and_collect("options_file=/dev/zero");
  CHECK(strstr(printed, "is longer than 16 KiB: not read\n") != NULL);
  CHECK_EQ(lm_options.stats_fd, 2);
}

static void what_is_no_file_does_not_block(void) {
  char path[64], entry[96];
  snprintf(path, sizeof path, "%s.fifo", file_path);
  snprintf(entry, sizeof entry, "options_file=%s", path);
  CHECK_EQ(mkfifo(path, 0600), 0);
  read_and_collect(entry);
  unlink(path);
  check_printed("");
}

/* ---- While the program runs ---- */

static int control(const char *name, const char *set) {
  return lm_options_control(name, NULL, 0, set);
}

static void an_option_is_set_and_got_as_text(void) {
  char before[LM_PATH_BYTES];
  lm_options.purge_delay_ms = 500;
  CHECK_EQ(lm_options_control("purge_delay_ms", before, sizeof before, "20"), 0);
  CHECK_EQ(strcmp(before, "500"), 0);
  CHECK_EQ(lm_options.purge_delay_ms, 20);
  CHECK_EQ(control("foreign", "ignore"), 0);
  CHECK_EQ(lm_options_control("foreign", before, sizeof before, NULL), 0);
  CHECK_EQ(strcmp(before, "ignore"), 0);
}

static void every_option_can_be_got_and_set_to_that(void) {
  char value[LM_PATH_BYTES];
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const struct option *option = &option_table[i];
    CHECK_EQ(lm_options_control(option->name, value, sizeof value, NULL), 0);
    CHECK_EQ(control(option->name, value), option->when == AT_START ? EPERM : 0);
  }
}

static void what_cannot_be_set_stays_as_it_is(void) {
  char value[4];
  lm_options.purge_delay_ms = 2000;
  CHECK_EQ(control("purge_delay_ms", "3600001"), EINVAL);
  CHECK_EQ(control("purge_delay_ms", ""), EINVAL);
  CHECK_EQ(lm_options_control("purge_delay_ms", value, sizeof value, "1"), ERANGE);
  CHECK_EQ(lm_options.purge_delay_ms, 2000);
  CHECK_EQ(control("foreign", "maybe"), EINVAL);
  CHECK_EQ(control("stats", "json"), EPERM);
  CHECK_EQ(control("colour", "red"), ENOENT);
  CHECK_EQ(control("", NULL), ENOENT);
  CHECK_EQ(control(NULL, NULL), ENOENT);
}

int main(void) {
  close(mkstemp(file_path));
  RUN(defaults_stand_where_nothing_is_said);
  RUN(the_tables_defaults_are_the_initial_values);
  RUN(several_entries_are_taken_and_empty_ones_skipped);
  RUN(a_text_is_taken_as_it_is_and_no_longer_than_there_is_room);
  RUN(an_unknown_option_is_complained_about);
  RUN(a_value_out_of_range_gives_the_default);
  RUN(a_time_that_never_comes_is_a_word_and_0_says_what_it_means);
  RUN(a_number_may_be_a_word_instead);
  RUN(a_choice_must_match_whole);
  RUN(an_entry_without_a_value_is_complained_about);
  RUN(long_rubbish_is_cut);
  RUN(what_is_complained_about_stays_in_its_line);
  RUN(help_lists_every_option);
  RUN(a_later_source_counts);
  RUN(the_programs_own_text_may_name_a_file_and_the_environment_another);
  RUN(a_file_has_lines_blanks_and_comments);
  RUN(blanks_around_names_and_values_are_passed_over);
  RUN(what_is_wrong_in_a_file_is_said_with_its_line);
  RUN(a_file_that_is_named_and_cannot_be_read_is_said);
  RUN(a_file_is_read_up_to_a_limit_or_not_at_all);
  RUN(what_is_no_file_does_not_block);
  unlink(file_path);
  RUN(an_option_is_set_and_got_as_text);
  RUN(every_option_can_be_got_and_set_to_that);
  RUN(what_cannot_be_set_stays_as_it_is);
  return UNIT_RESULT();
}
