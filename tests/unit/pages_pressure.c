/* Memory is short when the control group is near its limit, and then nothing is kept. */
#include "unit.h"

#if !LM_OS_HAS_GROUPS
int main(void) { return 77; }
#else
#include <sys/stat.h>

static char folder[] = "/tmp/loam-pressure-XXXXXX";
static char list_path[64];

static void write_number(const char *name, size_t number) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file, "%zu\n", number);
  fclose(file);
}

/* A group of 100 MiB, of which so many are used. */
static void use(size_t mib) { write_number("memory.current", mib * LM_MIB); }

static void begin_group(void) {
  CHECK(mkdtemp(folder) != NULL);
  snprintf(list_path, sizeof list_path, "%s/list", folder);
  FILE *file = fopen(list_path, "w");
  CHECK(file != NULL);
  fputs("0::/\n", file);
  fclose(file);
  write_number("memory.max", 100 * LM_MIB);
  use(10);
  group_list = list_path;
  group_root = folder;
  lm_pressure_start();
}

static void end_group(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ(system(command), 0);
}

static struct lm_pressure_held held;
static struct lm_pressure_held count(void) { return held; }
static bool look(uint64_t now_ms) { return lm_pressure_tick(now_ms, count); }

static void ask(void) {
  lm_pressure_note_used(lm_load_relaxed(&lm_pressure_asks_above) + 1);
  CHECK(lm_load_relaxed(&lm_pressure_asked) != 0);
}

static void nobody_looks_before_a_pool_asks(void) {
  begin_group();
  use(99);
  CHECK(!look(1000));
  CHECK(!lm_pressed(LM_PRESSURE_SOME));
  ask();
  CHECK(look(1000));
  CHECK(lm_pressed(LM_PRESSURE_MUCH));
  end_group();
}

static void the_pressure_follows_what_is_used(void) {
  static const struct {
    size_t mib;
    enum lm_pressure level;
  } steps[] = {{74, LM_PRESSURE_NONE}, {76, LM_PRESSURE_SOME},  {89, LM_PRESSURE_SOME},
               {91, LM_PRESSURE_MUCH}, {120, LM_PRESSURE_MUCH}, {80, LM_PRESSURE_SOME},
               {50, LM_PRESSURE_NONE}};
  begin_group();
  ask();
  CHECK(!look(1000));
  for (size_t i = 0; i < COUNT_OF(steps); i++) { /* from here on the clock asks */
    uint32_t before = lm_load_relaxed(&lm_pressure);
    use(steps[i].mib);
    CHECK_EQ(look(1000 + (i + 1) * LOOK_MS), steps[i].level > before);
    CHECK_EQ(lm_load_relaxed(&lm_pressure), steps[i].level);
  }
  end_group();
}

static void the_less_is_left_the_sooner_is_the_next_look(void) {
  begin_group();
  ask();
  size_t asked = lm_load_relaxed(&lm_pressure_asked);
  look(1000);
  size_t wide = lm_load_relaxed(&lm_pressure_asks_above) - asked;
  use(80);
  look(2000);
  size_t narrow = lm_load_relaxed(&lm_pressure_asks_above) - asked;
  CHECK(wide <= 90 * LM_MIB / 8 / PAGE && wide > 80 * LM_MIB / 8 / PAGE / lm_pool_count);
  CHECK(narrow < wide);
  use(100);
  look(3000);
  CHECK_EQ(lm_load_relaxed(&lm_pressure_asks_above) - asked, STEP_MIN_BYTES / PAGE);
  end_group();
}

static void without_a_limit_looks_are_rare(void) {
  begin_group();
  group_list = "/nonexistent";
  ask();
  size_t asked = lm_load_relaxed(&lm_pressure_asked);
  CHECK(!look(1000));
  CHECK_EQ(lm_load_relaxed(&lm_pressure_asks_above), 2 * asked);
  CHECK(!lm_load_relaxed(&is_followed));
  end_group();
}

static void without_a_limit_at_start_nobody_looks(void) {
  begin_group();
  lm_store_relaxed(&lm_pressure_asks_above, SIZE_MAX); /* as when the process starts */
  group_list = "/nonexistent";
  lm_pressure_start();
  group_list = list_path;
  use(99);
  lm_pressure_note_used(SIZE_MAX / 2);
  CHECK_EQ(lm_load_relaxed(&lm_pressure_asked), 0);
  CHECK(!look(1000));
  end_group();
}

static void no_file_is_read_but_at_start(void) {
  static const struct {
    size_t region_mib, huge_mib;
    enum lm_pressure level;
  } steps[] = {{60, 0, LM_PRESSURE_NONE},  {66, 0, LM_PRESSURE_SOME},  {50, 31, LM_PRESSURE_MUCH},
               {50, 41, LM_PRESSURE_NONE}, {70, 90, LM_PRESSURE_SOME}, {95, 0, LM_PRESSURE_MUCH},
               {0, 0, LM_PRESSURE_NONE}};
  begin_group();
  CHECK_EQ(lm_options_control("group_limit", NULL, 0, "start"), 0);
  group_list = "/nonexistent";
  use(99);
  ask();
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    held.region_bytes = steps[i].region_mib * LM_MIB;
    held.huge_bytes = steps[i].huge_mib * LM_MIB;
    look(1000 + i * LOOK_MS);
    CHECK_EQ(lm_load_relaxed(&lm_pressure), steps[i].level);
  }
  CHECK_EQ(lm_options_control("group_limit", NULL, 0, "follow"), 0);
  end_group();
}

/* Takes and frees 8 MiB of blocks some times, so that they are kept for the next. */
static void take_and_free_much(void) {
  enum { COUNT = 8192 };
  static void *blocks[COUNT];
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < COUNT; i++) blocks[i] = memset(loam_malloc(1000), 1, 1000);
    for (size_t i = 0; i < COUNT; i++) loam_free(blocks[i]);
  }
}

static size_t idle_bytes(const struct lm_cache *cache) {
  struct whereabouts where = find_blocks(lm_sizeclass_of(1000));
  return (where.listed + where.in_caches + where.in_depots) * 1000 +
         (lm_load_relaxed(&cache->central->pool->dirty_page_count) << lm_os.page_shift);
}

static void nothing_is_kept_while_memory_is_short(void) {
  loam_free(loam_malloc(1));
  struct lm_cache *cache = lm_this_cache;
  begin_group();
  take_and_free_much();
  CHECK_THAT(idle_bytes(cache), >=, LM_MIB / 2);
  use(95);
  ask();
  for (int i = 0; i < 200; i++) {
    usleep(1000);
    lm_tick(cache);
  }
  CHECK(lm_pressed(LM_PRESSURE_MUCH));
  CHECK_THAT(idle_bytes(cache), <=, 2 * LM_SLICE_BYTES);
  end_group();
}

int main(void) {
  CHECK_EQ(lm_options_control("group_limit", NULL, 0, "follow"), 0);
  RUN(nobody_looks_before_a_pool_asks);
  RUN(the_pressure_follows_what_is_used);
  RUN(the_less_is_left_the_sooner_is_the_next_look);
  RUN(without_a_limit_looks_are_rare);
  RUN(without_a_limit_at_start_nobody_looks);
  RUN(no_file_is_read_but_at_start);
  RUN(nothing_is_kept_while_memory_is_short);
  return UNIT_RESULT();
}
#endif
