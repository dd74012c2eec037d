/* Statistics: the sums, and the formats that others parse. */
#include "unit.h"

#include <sys/mman.h>

static struct lm_figures figures;

static void gather_all(void) {
  lm_figures_gather(&figures, LM_FIGURES_ALL, LM_THREAD(lm_this_cache));
  for (unsigned i = 0; i < lm_pool_count; i++) lm_pool_validate(&lm_pools[i]);
}

/* Of a block of 100000. */
static size_t middle_bytes(void) { return lm_sizeclass_bytes(lm_middle_class(100000)); }

static void nothing_is_counted_before_the_first_call(void) {
  gather_all();
  CHECK_EQ(lm_figures_used_bytes(&figures) + lm_figures_free_bytes(&figures), 0);
  CHECK_EQ(figures.region_count + figures.metadata_bytes + figures.heap_made_count, 0);
}

static void each_kind_of_block_is_counted_where_it_belongs(void) {
  void *small = lm_raw_malloc(100), *middle = lm_raw_malloc(100000);
  void *large = lm_raw_malloc(1000000);
  void *huge = lm_raw_malloc(2 * LM_LARGE_MAX_BYTES);
  gather_all();
  CHECK_EQ(figures.small.count, 1);
  CHECK_EQ(figures.small.bytes, lm_classes[lm_sizeclass_of(100)].block_bytes);
  CHECK_EQ(figures.middle.count, 1);
  CHECK_EQ(figures.middle.bytes, middle_bytes());
  CHECK_EQ(figures.large.count, 1);
  CHECK_EQ(figures.large.bytes, lm_align_up(1000000, PAGE));
  CHECK_EQ(figures.huge.count, 1);
  CHECK_EQ(figures.huge.bytes, 2 * LM_LARGE_MAX_BYTES);
  CHECK_EQ(figures.region_count, 1);
  CHECK_EQ(figures.reserved_bytes, LM_REGION_BYTES);
  CHECK_EQ(figures.free_run_count, 1); /* between spans and all others */
  CHECK_EQ(figures.heap_live_count, 1);
  CHECK_EQ(figures.heap_made_count, 1);
  CHECK_THAT(figures.metadata_bytes, >, 0);
  lm_raw_free(small), lm_raw_free(middle), lm_raw_free(large), lm_raw_free(huge);
  gather_all();
  CHECK_EQ(lm_figures_used_bytes(&figures), 0);
}

/* ---- Where what is free is ---- */

#define FEW_CLASS lm_sizeclass_of(100)
static struct lm_class_figures *class_of_few(void) { return &figures.classes[FEW_CLASS]; }

static void a_freed_block_is_in_a_cache(void) {
  void *volatile blocks[2] = {lm_raw_malloc(100), lm_raw_malloc(100)};
  gather_all();
  size_t carved = class_of_few()->carved_count;
  CHECK_EQ(class_of_few()->used_count, 2);
  CHECK_EQ(class_of_few()->cache_count, carved - 2);
  lm_raw_free(blocks[0]);
  gather_all();
  CHECK_EQ(class_of_few()->used_count, 1);
  CHECK_EQ(class_of_few()->cache_count, carved - 1);
  CHECK_EQ(class_of_few()->free_count, 0);
}

/* Fills spans and frees all blocks but one in `keep_each`; returns how many are left. */
static size_t leave_few(size_t count, size_t keep_each) {
  void **blocks = mmap(NULL, count * sizeof *blocks, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(blocks != MAP_FAILED);
  for (size_t i = 0; i < count; i++) CHECK((blocks[i] = lm_raw_malloc(100)) != NULL);
  size_t left = 0;
  for (size_t i = 0; i < count; i++)
    if (i % keep_each == 0) left++;
    else lm_raw_free(blocks[i]);
  munmap(blocks, count * sizeof *blocks);
  return left;
}

static void what_is_left_of_many_is_counted_exactly(void) {
  size_t left = leave_few(300000, 400);
  gather_all();
  CHECK_EQ(class_of_few()->used_count, left);
  CHECK_EQ(figures.small.bytes, left * lm_classes[FEW_CLASS].block_bytes);
  CHECK_EQ(figures.listed.bytes + figures.cached.bytes + figures.in_depots.bytes + figures.small.bytes,
           class_of_few()->carved_count * lm_classes[FEW_CLASS].block_bytes);
  if (BLOCKS_LEAVE_PAGES) CHECK_THAT(figures.idle_bytes, >, figures.listed.bytes / 2);
  CHECK_EQ(figures.hole_bytes, 0);
}

static void what_goes_back_as_holes_is_free_no_longer(void) {
  if (!SLICES_HAVE_PAGES) return;
  leave_few(300000, 400);
  gather_all();
  size_t idle_bytes = figures.idle_bytes, free_bytes = lm_figures_free_bytes(&figures);
  size_t used_count = class_of_few()->used_count;
  CHECK_EQ(loam_malloc_trim(0), 1);
  gather_all();
  CHECK_EQ(figures.idle_bytes, 0);
  CHECK_THAT(figures.hole_bytes, >=, idle_bytes);
  CHECK_EQ(class_of_few()->used_count, used_count);
  CHECK_THAT(class_of_few()->hole_count, >, 0);
  CHECK_THAT(lm_figures_free_bytes(&figures), <, free_bytes - idle_bytes * 9 / 10);
}

static void a_list_that_went_home_is_its_spans_and_then_dirty(void) {
  void *volatile block = lm_raw_malloc(100);
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  lm_raw_free(block);
  lm_cache_flush(cache);
  gather_all();
  CHECK_EQ(class_of_few()->free_count, class_of_few()->carved_count);
  CHECK_EQ(lm_figures_free_bytes(&figures), figures.listed.bytes);
  lm_tick_trim(SIZE_MAX);
  gather_all();
  CHECK_EQ(figures.listed.bytes, 0);
  CHECK_EQ(figures.dirty_bytes, PAGE);
}

static void *free_in_thread(void *block) {
  lm_raw_free(lm_raw_malloc(600)); /* so that the thread has a cache */
  lm_raw_free(block);
  lm_figures_gather(&figures, LM_FIGURES_ALL, LM_THREAD(lm_this_cache));
  return NULL;
}

static void what_another_thread_frees_is_free(void) {
  void *block = lm_raw_malloc(100), *middle = lm_raw_malloc(100000);
  run_in_thread(free_in_thread, block);
  CHECK_EQ(class_of_few()->used_count, 0);
  gather_all(); /* the thread has ended */
  CHECK_EQ(class_of_few()->used_count, 0);
  run_in_thread(free_in_thread, middle);
  CHECK_EQ(figures.middle.count, 0);
  CHECK_EQ(figures.cached_bytes, middle_bytes());
}

static void a_list_in_a_depot_is_counted_there(void) {
  struct lm_central *central = central_at(0);
  CHECK(lm_depot_give(central, FEW_CLASS, take_whole_list(central, FEW_CLASS), lm_list_blocks[FEW_CLASS]) != LM_LIST_REFUSED);
  gather_all();
  CHECK_EQ(class_of_few()->depot_count, lm_list_blocks[FEW_CLASS]);
  CHECK_EQ(class_of_few()->used_count, 0);
  CHECK_EQ(figures.in_depots.bytes, lm_list_blocks[FEW_CLASS] * lm_sizeclass_bytes(FEW_CLASS));
}

static void what_is_freed_is_free_until_it_is_purged(void) {
  void *large = lm_raw_malloc(300000);
  size_t bytes = lm_align_up(300000, PAGE);
  lm_raw_free(large);
  gather_all();
  CHECK_EQ(figures.large.count + figures.large.bytes, 0);
  CHECK_EQ(figures.dirty_bytes, bytes);
  lm_pool_trim(0);
  gather_all();
  CHECK_EQ(figures.dirty_bytes, 0);
  CHECK_EQ(figures.purged_bytes, bytes);
  CHECK_EQ(figures.purge_count, 1);
}

/* ---- Links that lead anywhere ---- */

/* A block of a cache in which the program writes, as it may when another thread takes it meanwhile. */
static void check_with_link(void *link) {
  struct lm_cache *cache = new_cache(); /* not the calling thread's */
  cache_give(cache, cache_take(cache, FEW_CLASS));
  cache->lists[FEW_CLASS]->next = link;
  gather_all();
  CHECK_THAT(class_of_few()->cache_count, <=, 4u * lm_list_blocks[FEW_CLASS]);
  cache->lists[FEW_CLASS] = link;
  gather_all();
  CHECK_THAT(class_of_few()->cache_count, <=, 4u * lm_list_blocks[FEW_CLASS]);
}

static void a_link_to_nowhere_is_not_followed(void) { check_with_link((void *)0x123456789abcde0); }
static void a_link_out_of_line_is_not_followed(void) {
  check_with_link((char *)lm_raw_malloc(100) + 1);
}
static void a_circle_ends(void) {
  struct lm_cache *cache = new_cache();
  cache_give(cache, cache_take(cache, FEW_CLASS));
  cache->lists[FEW_CLASS]->next = cache->lists[FEW_CLASS];
  gather_all();
  CHECK_THAT(class_of_few()->cache_count, <=, 2u * lm_list_blocks[FEW_CLASS]);
}
static void a_span_whose_list_leads_out_of_it_is_idle_as_far_as_that_goes(void) {
  struct lm_central *central = central_at(0);
  size_t count;
  struct lm_block *block = take_list(central, FEW_CLASS, 1, &count);
  lm_central_put(block, NULL);
  struct lm_span *span = lm_span_of(block);
  span->free_list->next = (struct lm_block *)(lm_span_start(span) + 8);
  CHECK_EQ(lm_lists_idle_pages(span), 0);
}

static uint32_t stopped;
static void *churn(void *unused) {
  void *blocks[64] = {NULL};
  for (uint32_t i = 0; !__atomic_load_n(&stopped, __ATOMIC_RELAXED); i++) {
    lm_raw_free(blocks[i % 64]);
    blocks[i % 64] = lm_raw_malloc(16 + i * 37 % 5000);
    memset(blocks[i % 64], 0xff, 16);
  }
  for (size_t i = 0; i < 64; i++) lm_raw_free(blocks[i]);
  return unused;
}

static void threads_may_run_meanwhile(void) {
  pthread_t threads[3];
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    CHECK_EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
  for (int i = 0; i < 300; i++) {
    lm_figures_gather(&figures, LM_FIGURES_ALL, LM_THREAD(lm_this_cache));
    CHECK_THAT(lm_figures_used_bytes(&figures), <=, 64 * 5120 * 3 + LM_MIB);
  }
  __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < COUNT_OF(threads); i++) pthread_join(threads[i], NULL);
}

/* ---- Threads ---- */

static void *allocate(void *unused) {
  lm_raw_free(lm_raw_malloc(10));
  return unused;
}

static void threads_are_counted_while_they_live(void) {
  lm_raw_free(lm_raw_malloc(10));
  for (int i = 0; i < 3; i++) run_in_thread(allocate, NULL);
  gather_all();
  CHECK_EQ(figures.heap_live_count, 1);
  CHECK_EQ(figures.heap_made_count, 2);
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

static char text_of_report[LM_REPORT_BYTES + 1];

static const char *printed_by(lm_report_print *print) {
  struct lm_text text = {text_of_report, LM_REPORT_BYTES, 0};
  print(&text, &figures);
  CHECK_THAT(text.length, <, LM_REPORT_BYTES);
  text_of_report[text.length] = 0;
  return text_of_report;
}

static const char *whole(void *block) {
  gather_all();
  lm_raw_free(block);
  return "";
}

/* Brackets and quotes match, and there is one line. */
static void check_json(const char *p) {
  char open[8];
  size_t depth = 0;
  for (bool quoted = false; *p != '\n'; p++) {
    CHECK(*p >= ' ');
    if (*p == '"') quoted = !quoted;
    if (quoted) continue;
    if (*p == '{' || *p == '[') open[depth++] = *p;
    if (*p == '}' || *p == ']') CHECK(depth > 0 && open[--depth] == *p - 2);
  }
  CHECK_EQ(depth, 0);
  CHECK_EQ(p[1], 0);
}

static void json_has_every_number(void) {
  whole(lm_raw_malloc(100));
  const char *json = printed_by(lm_report_print_json);
  check_json(json);
  union {
    struct loam_stats stats;
    uint64_t values[NAME_COUNT];
  } all;
  lm_report_fill(&all.stats, &figures);
  for (size_t i = 0; i < NAME_COUNT; i++) {
    char member[128];
    snprintf(member, sizeof member, ", \"%s\": %llu", names[i], (unsigned long long)all.values[i]);
    CHECK(strstr(json, member) != NULL);
  }
  CHECK(strstr(json, "\"classes\": [{\"block_bytes\": 112, \"span_count\": 1, ") != NULL);
}

static void json_says_which_build_it_is(void) {
  CHECK(strstr(printed_by(lm_report_print_json), LM_CHECKING ? "\"build\": \"checking\""
                                                             : "\"build\": \"fast\"") != NULL);
}

static void the_largest_numbers_fit_in_every_format(void) {
  memset(&figures, 0xff, sizeof figures);
  check_json(printed_by(lm_report_print_json));
  CHECK_EQ(strchr(printed_by(lm_report_print_text), 0)[-1], '\n');
  CHECK_EQ(strchr(printed_by(lm_report_print_xml), 0)[-1], '\n');
}

static void text_begins_with_what_is_in_memory(void) {
  whole(lm_raw_malloc(100000));
  const char *text = printed_by(lm_report_print_text);
  CHECK_EQ(strncmp(text, "loam " LOAM_VERSION, 5 + strlen(LOAM_VERSION)), 0);
  CHECK_EQ(strncmp(strchr(text, '\n'), "\n  in memory  ", 14), 0);
  CHECK(strstr(text, "iB    at most ") != NULL || strstr(text, "iB     at most ") != NULL);
  char middle[80];
  snprintf(middle, sizeof middle, "    middle                    %zu KiB     1 block\n",
           middle_bytes() / KIB);
  CHECK(strstr(text, middle) != NULL);
}

static void a_childs_line_is_one_line(void) {
  gather_all();
  const char *text = printed_by(lm_report_print_line);
  CHECK_EQ(*strchr(text, '\n'), '\n');
  CHECK_EQ(strchr(text, '\n')[1], 0);
  CHECK(strstr(text, "in memory at most ") != NULL);
}

static void xml_closes_what_it_opens(void) {
  whole(lm_raw_malloc(100));
  const char *text = printed_by(lm_report_print_xml);
  CHECK_EQ(strncmp(text, "<malloc version=\"loam-", 22), 0);
  CHECK(strstr(text, "</malloc>\n") != NULL);
  CHECK(strstr(text, "<size block_bytes=\"112\" span_count=\"1\" ") != NULL);
  for (size_t i = 0; i < NAME_COUNT; i++) {
    char end[128];
    snprintf(end, sizeof end, "</%s>", names[i]);
    CHECK(strstr(text, end) != NULL);
  }
}

static void the_api_fills_what_the_caller_knows(void) {
  struct {
    struct loam_stats stats;
    uint64_t beyond;
  } more = {.beyond = 7};
  void *volatile block = loam_malloc(100);
  loam_stats(&more.stats, sizeof more.stats);
  CHECK_EQ(more.beyond, 7);
  CHECK_THAT(more.stats.used_count, >, 0);
  loam_stats(&more.stats, sizeof more);
  CHECK_EQ(more.beyond, 0);
  more.stats.used_count = 7;
  loam_stats(&more.stats, offsetof(struct loam_stats, used_count));
  CHECK_EQ(more.stats.used_count, 7);
  struct loam_class_stats classes[LM_CLASS_COUNT];
  size_t count = loam_stats_of_classes(classes, LM_CLASS_COUNT), used_count = 0;
  CHECK_EQ(count, LM_CLASS_COUNT - 1);
  CHECK_EQ(classes[0].block_bytes, 16);
  for (size_t i = 0; i < count; i++) used_count += classes[i].used_count;
  CHECK_THAT(used_count, >, 0);
  loam_free(block);
}

int main(void) {
  RUN(nothing_is_counted_before_the_first_call);
  RUN(each_kind_of_block_is_counted_where_it_belongs);
  RUN(a_freed_block_is_in_a_cache);
  RUN(what_is_left_of_many_is_counted_exactly);
  RUN(what_goes_back_as_holes_is_free_no_longer);
  RUN(a_list_that_went_home_is_its_spans_and_then_dirty);
  RUN(what_another_thread_frees_is_free);
  RUN(a_list_in_a_depot_is_counted_there);
  RUN(what_is_freed_is_free_until_it_is_purged);
  RUN(a_link_to_nowhere_is_not_followed);
  RUN(a_link_out_of_line_is_not_followed);
  RUN(a_circle_ends);
  RUN(a_span_whose_list_leads_out_of_it_is_idle_as_far_as_that_goes);
  RUN(threads_may_run_meanwhile);
  RUN(threads_are_counted_while_they_live);
  RUN(mallinfo_adds_up);
  RUN(json_has_every_number);
  RUN(json_says_which_build_it_is);
  RUN(the_largest_numbers_fit_in_every_format);
  RUN(text_begins_with_what_is_in_memory);
  RUN(a_childs_line_is_one_line);
  RUN(xml_closes_what_it_opens);
  RUN(the_api_fills_what_the_caller_knows);
  return UNIT_RESULT();
}
