// own-program: yes
// timeout: 1200
// long-arguments: 0
// emulated-arguments: 40
// cost: 30
/* The fault walk: a script of calls runs once for every system call in it that can fail, and that
 * one fails, alone or with all that follow. Each function either works or says ENOMEM, contents
 * stay, and once the fault is over the same script runs without any failure and leaves nothing
 * behind.
 *
 * Arguments: none for the walk, SPARSENESS for one of so many of its calls, 0 for each call in each
 * variant, or VARIANT FAULT all|one for one run of it, in the debugger for instance. */
#define memcpy copy_edges /* in all that unit.h includes: defined below */
#include "unit.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* The middle of a long block is never written here, and its pages would cost more than all else of
 * the walk: a fault for each that is copied. */
#undef memcpy
void *memcpy(void *to, const void *from, size_t size);
void *copy_edges(void *to, const void *from, size_t size) {
  enum { COPIED = 65536 };
  if (size <= 2 * COPIED) return memcpy(to, from, size);
  memcpy((char *)to + size - COPIED, (const char *)from + size - COPIED, COPIED);
  return memcpy(to, from, COPIED);
}

/* ---- What is held ---- */

struct held {
  unsigned char *block; /* NULL: nothing */
  size_t size;
  unsigned seed;
  bool aligned; /* asked for with an alignment */
};

enum { HELD = 400, EDGE = 64 };
static struct held held[HELD];
static long failure_count; /* calls that returned NULL */

static size_t edge(size_t size) { return size < EDGE ? size : EDGE; }

static void held_fill(struct held *h, size_t size) {
  h->size = size;
  h->seed = (unsigned)((uintptr_t)h->block >> 4);
  fill(h->block, 0, edge(size), h->seed);
  fill(h->block, size - edge(size), size, h->seed);
}

static void held_check(const struct held *h) {
  check_filled(h->block, 0, edge(h->size), h->seed);
  check_filled(h->block, h->size - edge(h->size), h->size, h->seed);
}

/* Every call goes through here. */
static bool worked(const void *block) {
  if (block != NULL) {
    CHECK_EQ(errno, 0);
    return true;
  }
  CHECK_EQ(errno, ENOMEM);
  failure_count++;
  return false;
}

static struct held *free_place(void) {
  for (size_t i = 0; i < HELD; i++)
    if (held[i].block == NULL) return &held[i];
  CHECK(!"room for another block");
  return NULL;
}

static void hold_block(void *block, size_t size, bool aligned) {
  if (!worked(block)) return;
  struct held *h = free_place();
  h->block = block;
  h->aligned = aligned;
  held_fill(h, size);
}

static void get(size_t size) {
  errno = 0;
  hold_block(loam_malloc(size), size, false);
}

static void get_zero(size_t size) {
  errno = 0;
  unsigned char *block = loam_calloc(1, size);
  if (block != NULL) {
    check_zero(block, edge(size));
    for (size_t i = 0; i < size; i += 4096 + size / 16) CHECK_EQ(block[i], 0);
    CHECK_EQ(block[size - 1], 0);
  }
  hold_block(block, size, false);
}

static void get_aligned(size_t alignment, size_t size) {
  errno = 0;
  void *block = loam_aligned_alloc(alignment, size);
  CHECK_EQ((uintptr_t)block % alignment, 0);
  hold_block(block, size, true);
}

static void drop(struct held *h) {
  if (h->block == NULL) return;
  held_check(h);
  errno = 0;
  if (h->aligned) loam_free(h->block);
  else loam_free_sized(h->block, h->size); /* be it as long as it was before realloc shrank it */
  CHECK_EQ(errno, 0);
  h->block = NULL;
}

static void change(struct held *h, size_t size) {
  if (h->block == NULL) return;
  held_check(h);
  size_t old_size = h->size;
  errno = 0;
  unsigned char *block = loam_realloc(h->block, size);
  if (!worked(block)) {
    held_check(h);
    return;
  }
  h->block = block;
  h->aligned = false;
  if (size >= old_size) held_check(h);
  else check_filled(block, 0, edge(size), h->seed);
  held_fill(h, size);
}

static void drop_every(size_t step) {
  for (size_t i = 0; i < HELD; i += step) drop(&held[i]);
}

/* ---- The script ---- */

static void blocks_of_all_kinds(void) {
  for (size_t size = 1; size <= 40 * MIB; size = size * 2 + 7) get(size);
  drop_every(2);
  for (size_t size = 1; size <= MIB; size = size * 3 + 5) get_zero(size);
  get_zero(20 * MIB);
  drop_every(3);
  for (size_t alignment = 32; alignment <= 128 * MIB; alignment *= 8) {
    get_aligned(alignment, 40);
    get_aligned(alignment, 200000);
  }
  drop_every(1);
}

static void change_in_steps(struct held *h, const size_t *sizes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    change(h, sizes[i]);
    if (i % 4 == 0) get(100000); /* in the way of growth in place */
  }
}

static void blocks_that_grow_and_shrink(void) {
  static const size_t large[] = {10,     100,     3000,    30000,    50000, 100000,
                                 600000, 1 * MIB, 2 * MIB, 17 * MIB, 20};
  static const size_t huge[] = {34 * MIB, 40 * MIB, 36 * MIB, 600000, 60000, 2000};
  get(10);
  get(2 * MIB);
  change_in_steps(&held[0], large, COUNT_OF(large));
  change_in_steps(&held[1], huge, COUNT_OF(huge));
  drop_every(1);
}

static void *thread_takes_and_gives(void *unused) {
  drop_every(3); /* of others, before the thread has a cache */
  for (size_t i = 0; i < 40; i++) get(16 + i * i * 40);
  drop_every(5);
  return unused;
}

static void threads_that_leave_blocks_to_each_other(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * KIB);
  for (size_t i = 0; i < 60; i++) get(16 + i * i * 10);
  for (int i = 0; i < 3; i++) {
    int error = pthread_create(&thread, &attributes, thread_takes_and_gives, NULL);
    if (error == 0) join_thread(thread);
    else CHECK(lm_fault_more > 0); /* what cannot be unmapped counts against the limit */
  }
  drop_every(1);
}

static void giving_memory_back(void) {
  uint64_t hour_ms = 3600000;
  for (size_t i = 0; i < 30; i++) get(20000 + i * 10000);
  drop_every(2);
  size_t effort = SIZE_MAX / 2;
  lm_pool_tick(lm_os_clock_ms() + hour_ms, &effort);
  lm_pool_tick(lm_os_clock_ms() + 2 * hour_ms, &effort);
  for (size_t i = 0; i < 10; i++) get_zero(300000);
  drop_every(2);
  loam_malloc_trim(0);
  for (size_t i = 0; i < 10; i++) get_zero(300000);
  drop_every(1);
}

static void run_script(void) {
  blocks_of_all_kinds();
  blocks_that_grow_and_shrink();
  threads_that_leave_blocks_to_each_other();
  giving_memory_back();
}

/* ---- Variants ---- */

enum variant {
  PLAIN,
  NO_OVERCOMMIT,
  PURGE_DECOMMITS,
  NO_TABLE,
  TABLE_GIVEN_UP,
  TABLE_GIVEN_UP_LATER,
  VARIANTS
};
static const char *const variant_names[VARIANTS] = {
    "plain",    "no_overcommit",  "purge_decommits",
    "no_table", "table_given_up", "table_given_up_later"};

static void limit_address_space(size_t bytes) {
  struct rlimit limit = {bytes, RLIM_INFINITY};
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static size_t used_address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Makes the next region need the table's address space. In 32 bit the table is too small to be of
 * use to a region, so it is given up here, as a region that finds no address space does. */
static void need_table_given_up(void) {
  limit_address_space(LM_BITS_64 ? used_address_space() + LM_REGION_BYTES / 2 : (size_t)3 << 30);
  bool has_table = lm_tags.multiplier != 0; /* unless the fault was in making it */
  if (!LM_BITS_64 && has_table) CHECK(lm_tags_give_up());
}

/* The parts of process start that can fail, again. */
static void start(enum variant variant) {
  if (lm_tags.multiplier != 0) lm_os_release(lm_tags.table, LM_TAGS_WORDS * sizeof(lm_tag));
  lm_tags.table = &no_tag;
  lm_tags.multiplier = 0;
  lm_options.purge_delay_ms = 3600000; /* so that every run makes the same calls */
  if (variant == NO_OVERCOMMIT || variant == PURGE_DECOMMITS) lm_os.overcommit = false;
  if (variant == PURGE_DECOMMITS) lm_os.purge_decommits = true;
  if (variant == NO_TABLE) limit_address_space((size_t)3 << 30);
  lm_os_read_address_space_limit();
  lm_tags_start();
  CHECK(variant != NO_TABLE || lm_tags.multiplier == 0);
  if (variant == TABLE_GIVEN_UP) need_table_given_up();
}

static void run_variant(enum variant variant) {
  start(variant);
  if (variant == TABLE_GIVEN_UP_LATER) {
    blocks_of_all_kinds();
    for (size_t size = 1; size <= 40 * MIB; size = size * 2 + 7) get(size);
    need_table_given_up();
  }
  run_script();
}

/* ---- One run ---- */

/* Written by the child, read by the parent. */
struct result {
  long point_count;
  long failure_count;
  bool ended;
};
static struct result *result;

enum mode { NONE, ONE, ALL };

/* All but `lost_max` blocks, targets of moves that the system has taken away for good. */
static void check_that_nothing_is_left(size_t lost_max) {
  drop_every(1);
  lm_checked_end();
  lm_cache_flush(lm_this_cache);
  lm_tick_trim(0);
  validate_all();
  for (unsigned i = 0; i < lm_pool_count; i++) {
    CHECK_EQ(lm_pools[i].span_slice_count, 0);
    CHECK_THAT(lm_pools[i].large_count, <=, lost_max);
  }
  CHECK_THAT(lm_huge_totals.count, <=, lost_max);
  CHECK_EQ(lm_pool_thread_count, 1);
}

static void run(enum variant variant, long fault, enum mode mode) {
  lm_fault_points = 0;
  lm_fault_more = mode == ALL ? LONG_MAX : 0;
  lm_fault_countdown = mode == NONE ? -1 : fault;
  run_variant(variant);
  result->point_count = lm_fault_points;
  result->failure_count = failure_count;
  lm_fault_more = 0;
  lm_fault_countdown = -1;
  failure_count = 0;
  run_script();
  CHECK_EQ(failure_count, 0);
  check_that_nothing_is_left(mode == ALL ? 3 : 0);
  if (mode == NONE && variant >= TABLE_GIVEN_UP) CHECK_EQ(lm_tags.multiplier, 0);
  result->ended = true;
}

static bool run_in_child(enum variant variant, long fault, enum mode mode) {
  int status;
  *result = (struct result){0, 0, false};
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(100);
    run(variant, fault, mode);
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  bool good = status == 0 && result->ended;
  /* One system call that fails makes at most one function fail. */
  if (mode == NONE && result->failure_count != 0) good = false;
  if (mode == ONE && result->failure_count > 1) good = false;
  if (!good)
    printf("FAIL %s %ld %s: status %#x, %ld failures\n", variant_names[variant], fault,
           mode == ALL ? "all" : "one", status, result->failure_count);
  fflush(stdout);
  return good;
}

/* The variants make mostly the same calls, and between them walk every one, which fails alone or with
 * all that follow. The plain one walks every call in both ways by itself, in the form that costs
 * least. A sparseness of 0: each call in each variant, in both. */
static long fault_step(enum variant variant, long sparseness) {
  if (sparseness == 0) return 1;
  return sparseness * (variant == PLAIN && !LM_CHECKING && LM_BITS_64 ? 1 : VARIANTS - 1);
}

static bool walk(enum variant variant, long sparseness) {
  bool good = run_in_child(variant, 0, NONE);
  long count = result->point_count, failed = 0;
  CHECK_THAT(count, >, 40); /* 50 to 67 with 64 bit: by addresses, fewer moves of the system are needed */
  long step = fault_step(variant, sparseness);
  for (long fault = variant % step; fault < count; fault += step) {
    bool both = step == 1, is_odd = fault / step % 2 != 0;
    if (both || !is_odd) {
      good &= run_in_child(variant, fault, ONE);
      failed += result->failure_count;
    }
    if (both || is_odd) good &= run_in_child(variant, fault, ALL);
  }
  printf("%s %s: %ld faults, of which %ld were seen by the caller\n", good ? "ok  " : "FAIL",
         variant_names[variant], count, failed);
  return good;
}

/* Emulators of processors leave the limit to themselves. */
static bool can_limit_address_space(void) {
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit;
    limit_address_space((size_t)3 << 30);
    _exit(getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? 0 : 1);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

static bool can_run(enum variant variant) {
  bool can = variant < NO_TABLE || can_limit_address_space();
  if (!can) printf("none %s: the address space has no limit here\n", variant_names[variant]);
  return can;
}

int main(int count, char **arguments) {
  bool good = true;
  long sparseness = count == 2 ? atol(arguments[1]) : 1;
  CHECK_THAT(sparseness, >=, 0);
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(result != MAP_FAILED);
  for (enum variant variant = 0; variant < VARIANTS; variant++) {
    if (!can_run(variant)) continue;
    if (count < 4) good &= walk(variant, sparseness);
    else if (strcmp(arguments[1], variant_names[variant]) == 0)
      run(variant, atol(arguments[2]), strcmp(arguments[3], "all") == 0 ? ALL : ONE);
  }
  return good ? 0 : 1;
}
