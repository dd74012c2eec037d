/* LOAM_OPTIONS: what is taken, and what is complained about. */
#include "unit.h"

static char printed[8192];

/* Reads the options and collects what is printed to standard error. */
static void read_and_collect(const char *text) {
  int ends[2], saved = dup(2);
  CHECK_EQ(pipe(ends), 0);
  dup2(ends[1], 2);
  lm_options_read(text);
  dup2(saved, 2);
  close(ends[1]);
  ssize_t length = read(ends[0], printed, sizeof printed - 1);
  CHECK(length >= 0);
  printed[length] = 0;
  close(ends[0]);
  close(saved);
}

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
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_OFF);
  CHECK_EQ(lm_options.mismatch, LM_MISMATCH_ABORT);
}

static void the_tables_defaults_are_the_initial_values(void) {
  for (size_t i = 0; i < OPTION_COUNT; i++)
    if (option_table[i].text != NULL) CHECK_EQ(option_table[i].text[0], 0);
    else CHECK_EQ(*option_table[i].value, option_table[i].default_value);
}

static void several_entries_are_taken_and_empty_ones_skipped(void) {
  read_and_collect(",stats=json,,purge_delay_ms=0,foreign=ignore,huge_pages=on,");
  check_printed("");
  CHECK_EQ(lm_options.stats, LM_STATS_JSON);
  CHECK_EQ(lm_options.purge_delay_ms, 0);
  CHECK_EQ(lm_options.foreign, LM_FOREIGN_IGNORE);
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_ON);
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
  check_printed("loam: LOAM_OPTIONS: bad value '3600001' for purge_delay_ms: expected 0 to 3600000 "
                "milliseconds; 500 is used\n");
  CHECK_EQ(lm_options.purge_delay_ms, 500);
}

static void a_choice_must_match_whole(void) {
  read_and_collect("stats=js");
  check_printed("loam: LOAM_OPTIONS: bad value 'js' for stats: expected off|text|json; off is "
                "used\n");
  read_and_collect("huge_pages=1");
  check_printed("loam: LOAM_OPTIONS: bad value '1' for huge_pages: expected off|on; off is used\n");
  CHECK_EQ(lm_options.huge_pages, LM_HUGE_PAGES_OFF);
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

int main(void) {
  RUN(defaults_stand_where_nothing_is_said);
  RUN(the_tables_defaults_are_the_initial_values);
  RUN(several_entries_are_taken_and_empty_ones_skipped);
  RUN(a_text_is_taken_as_it_is_and_no_longer_than_there_is_room);
  RUN(an_unknown_option_is_complained_about);
  RUN(a_value_out_of_range_gives_the_default);
  RUN(a_choice_must_match_whole);
  RUN(an_entry_without_a_value_is_complained_about);
  RUN(long_rubbish_is_cut);
  RUN(what_is_complained_about_stays_in_its_line);
  RUN(help_lists_every_option);
  return UNIT_RESULT();
}
