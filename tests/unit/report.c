/* Statistics: the sums, and the formats that others parse. */
#include "unit.h"

static struct lm_totals totals;

static void gather(void) {
  lm_report_gather(&totals);
  for (unsigned i = 0; i < lm_pool_count; i++) check_pool(&lm_pools[i]);
}

static void nothing_is_counted_before_the_first_call(void) {
  gather();
  struct lm_totals zero = {0};
  CHECK_EQ(memcmp(&totals, &zero, sizeof zero), 0);
}

static void each_kind_of_block_is_counted_where_it_belongs(void) {
  void *small = lm_raw_malloc(100), *middle = lm_raw_malloc(100000);
  void *large = lm_raw_malloc(1000000);
  void *huge = lm_raw_malloc(2 * LM_LARGE_MAX_BYTES);
  gather();
  CHECK_EQ(totals.span_bytes, LM_SLICE_BYTES);
  CHECK_EQ(totals.large_count, 1);
  CHECK_EQ(totals.large_bytes, lm_align_up(1000000, PAGE));
  CHECK_EQ(totals.middle_bytes, lm_align_up(100000, PAGE));
  CHECK_EQ(totals.huge_count, 1);
  CHECK_EQ(totals.huge_bytes, 2 * LM_LARGE_MAX_BYTES);
  CHECK_EQ(totals.region_count, 1);
  CHECK_EQ(totals.reserved_bytes, LM_REGION_BYTES);
  CHECK_EQ(totals.free_bytes, 0);
  CHECK_EQ(totals.free_run_count, 2); /* a chunk stands between them */
  CHECK_EQ(totals.heap_live_count, 1);
  CHECK_EQ(totals.heap_made_count, 1);
  lm_raw_free(small), lm_raw_free(middle), lm_raw_free(large), lm_raw_free(huge);
}

static void what_is_freed_is_free_until_it_is_purged(void) {
  void *large = lm_raw_malloc(300000);
  size_t bytes = lm_align_up(300000, PAGE);
  lm_raw_free(large);
  gather();
  CHECK_EQ(totals.large_count + totals.large_bytes, 0);
  CHECK_EQ(totals.free_bytes, bytes);
  lm_pool_trim(0);
  gather();
  CHECK_EQ(totals.free_bytes, 0);
  CHECK_EQ(totals.purged_bytes, bytes);
  CHECK_EQ(totals.purge_count, 1);
}

static void *allocate(void *unused) {
  lm_raw_free(lm_raw_malloc(10));
  return unused;
}

static void threads_are_counted_while_they_live(void) {
  lm_raw_free(lm_raw_malloc(10));
  for (int i = 0; i < 3; i++) run_in_thread(allocate, NULL);
  gather();
  CHECK_EQ(totals.heap_live_count, 1);
  CHECK_EQ(totals.heap_made_count, 2);
}

static void mallinfo_adds_up(void) {
  void *volatile blocks[3] = {loam_malloc(100), loam_malloc(300000), loam_malloc(50000)};
  loam_free(blocks[1]);
  lm_checked_end(); /* holds nothing back */
  struct loam_mallinfo2 info = loam_mallinfo2();
  CHECK_EQ(info.arena, info.uordblks + info.fordblks);
  CHECK_THAT(info.fordblks, >=, 300000);
  struct loam_mallinfo small = loam_mallinfo();
  CHECK_EQ(small.uordblks, info.uordblks);
  CHECK_EQ(capped((size_t)INT_MAX + 1), INT_MAX);
}

/* ---- Formats ---- */

/* The value of a key in the one flat JSON object that is printed; -1 if the text is not one. */
static const char *parse_json(const char *p, const char *key, long long *value) {
  *value = -1;
  if (*p++ != '{') return NULL;
  for (;;) {
    char *end;
    if (*p++ != '"') return NULL;
    const char *name = p;
    while (*p != '"' && *p != 0) p++;
    size_t length = (size_t)(p - name);
    if (strncmp(p, "\": ", 3) != 0) return NULL;
    p += 3;
    long long number = 0;
    if (*p == '"') {
      for (p++; *p != '"'; p++)
        if (*p == 0 || *p == '\\') return NULL;
      p++;
    } else {
      if (*p < '0' || *p > '9') return NULL;
      number = (long long)strtoull(p, &end, 10);
      p = end;
    }
    if (strlen(key) == length && strncmp(name, key, length) == 0) *value = number;
    if (*p == '}') return p + 1;
    if (strncmp(p, ", ", 2) != 0) return NULL;
    p += 2;
  }
}

static char text_of_report[LM_REPORT_BYTES + 1];

static const char *print(enum lm_stats_format format) {
  struct lm_text text = {text_of_report, LM_REPORT_BYTES, 0};
  lm_report_print(&text, format);
  CHECK_THAT(text.length, <, LM_REPORT_BYTES);
  text_of_report[text.length] = 0;
  return text_of_report;
}

static void json_is_one_flat_object_with_every_number(void) {
  void *block = lm_raw_malloc(100000);
  struct line lines[LINE_COUNT];
  fill_lines(lines);
  const char *json = print(LM_STATS_JSON);
  for (size_t i = 0; i < LINE_COUNT; i++) {
    long long value;
    const char *end = parse_json(json, lines[i].name, &value);
    CHECK(end != NULL);
    CHECK_EQ(strcmp(end, "\n"), 0);
    CHECK_EQ(value, lines[i].value);
  }
  lm_raw_free(block);
}

static void json_says_which_build_it_is(void) {
  CHECK(strstr(print(LM_STATS_JSON), LM_CHECKING ? "\"build\": \"checking\""
                                                 : "\"build\": \"fast\"") != NULL);
}

static void the_largest_numbers_fit_in_every_format(void) {
  lm_pool_thread_count = SIZE_MAX;
  for (int i = 0; i < LM_POOL_MAX; i++) lm_pools[i].purge_count = UINT64_MAX;
  lm_huge_totals = (struct lm_huge_totals){SIZE_MAX, SIZE_MAX};
  CHECK_EQ(strchr(print(LM_STATS_TEXT), 0)[-1], '\n');
  CHECK_EQ(strchr(print(LM_STATS_JSON), 0)[-1], '\n');
}

static void text_has_a_line_for_every_number(void) {
  struct line lines[LINE_COUNT];
  fill_lines(lines);
  const char *text = print(LM_STATS_TEXT);
  for (size_t i = 0; i < LINE_COUNT; i++) {
    CHECK(strstr(text, lines[i].name) != NULL);
    CHECK(strstr(text, lines[i].help) != NULL);
  }
}

static void xml_closes_what_it_opens(void) {
  struct line lines[LINE_COUNT];
  struct lm_text text = {text_of_report, LM_REPORT_BYTES, 0};
  fill_lines(lines);
  lm_report_print_xml(&text);
  text_of_report[text.length] = 0;
  CHECK_EQ(strncmp(text_of_report, "<malloc version=\"loam-", 22), 0);
  CHECK(strstr(text_of_report, "</malloc>\n") != NULL);
  for (size_t i = 0; i < LINE_COUNT; i++) {
    char element[128];
    snprintf(element, sizeof element, "<%s>%llu</%s>", lines[i].name,
             (unsigned long long)lines[i].value, lines[i].name);
    CHECK(strstr(text_of_report, element) != NULL);
  }
}

int main(void) {
  RUN(nothing_is_counted_before_the_first_call);
  RUN(each_kind_of_block_is_counted_where_it_belongs);
  RUN(what_is_freed_is_free_until_it_is_purged);
  RUN(threads_are_counted_while_they_live);
  RUN(mallinfo_adds_up);
  RUN(json_is_one_flat_object_with_every_number);
  RUN(json_says_which_build_it_is);
  RUN(the_largest_numbers_fit_in_every_format);
  RUN(text_has_a_line_for_every_number);
  RUN(xml_closes_what_it_opens);
  return UNIT_RESULT();
}
