// arguments: 4
/* Differential fuzzing of the allocator: the input is a program of calls, made by several threads
 * in turn or together, and after each call the answer is compared with what the shadow knows.
 * fuzz/README.md says how to run it. loam is compiled in under its own names, with system calls
 * that fail on demand, so that its own sums can be counted again, too. */
#define CHECK_FAILED_END() abort()
#include "../tests/unit/unit.h"

#define TEST_PREFIXED 1
#include "../tests/names.h"
#include "../tests/provider.h"

#include "bytes.h"
#include "drive.h"
#include "shadow.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { ACTORS = 6, HEAPS = 4, LIVE_BYTES_MAX = 300 << 20, STORM_BLOCKS = 64, SHARED_BLOCKS = 128 };

static struct fuzz_bytes input;
static uint64_t next_seed;
static size_t operation_count;

/* ---- What may fail, and what a call must answer ---- */

static unsigned faulty_operations; /* so many more may find system calls failing */
static bool had_faults;            /* since the input began */
static bool limited;               /* address space is */

static bool may_fail(void) { return faulty_operations > 0 || limited; }

#define ERRNO_BEFORE 4711 /* none of the system's */

static void before_call(void) { errno = ERRNO_BEFORE; }

/* After a call that takes memory; whether it did. A size beyond `SURELY_BYTES` may be refused. */
#define SURELY_BYTES ((size_t)1 << (LM_BITS_64 ? 32 : 27))
static bool has_taken(const void *block, size_t size) {
  if (block != NULL) {
    CHECK_EQ(errno, ERRNO_BEFORE);
    CHECK_THAT(size, <=, PTRDIFF_MAX);
    return true;
  }
  CHECK_EQ(errno, ENOMEM);
  CHECK(may_fail() || size > SURELY_BYTES);
  return false;
}

static void after_free(void) { CHECK_EQ(errno, ERRNO_BEFORE); }

/* ---- Arguments ---- */

/* Sizes of every kind; beyond what may live at once are none but those that must fail. */
static size_t take_size(void) {
  static const size_t edges[] = {0, 1, 8, 15, 16, 17, 1024, 1025, 4095, 4096, 4097, 32 * KIB,
                                 32 * KIB + 1, 64 * KIB, 256 * KIB, 2 * MIB, 32 * MIB};
  unsigned kind = take_byte(&input), detail = take_word(&input);
  if (kind < 110) return detail % 600;
  if (kind < 170) return detail % (33 * KIB);
  if (kind < 200) return detail * 4;
  if (kind < 220) return edges[detail % COUNT_OF(edges)];
  if (kind < 248) return detail * 40;
  if (kind < 251) return detail * 1200;
  if (kind < 253) return (size_t)16 << detail % 23;
  if (kind < 254) return (size_t)PTRDIFF_MAX - 20 + detail % 40;
  if (kind < 255) return SIZE_MAX - detail * 10;
  return SIZE_MAX / 2 / (detail % 1000 + 1);
}

static size_t take_small_size(void) { return take_word(&input) % 2000; }

static size_t take_alignment(void) {
  unsigned byte = take_byte(&input);
  return byte < 200 ? (size_t)1 << byte % 13 : byte < 250 ? (size_t)1 << byte % 27 : byte % 50;
}

static bool is_alignment(size_t alignment) {
  return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

static struct block *any_block(void) {
  return block_count == 0 ? NULL : &blocks[(take_word(&input) * 7919u) % block_count];
}

/* ---- First-class heaps ---- */

struct fuzzed_heap {
  struct loam_heap *heap; /* NULL: none */
  struct strict strict;   /* its provider, if it has one */
  bool provided;
};
static struct fuzzed_heap heaps[HEAPS];

static void end_faults(void) {
  faulty_operations = 0;
  lm_fault_more = 0;
  lm_fault_countdown = -1;
  for (int i = 0; i < HEAPS; i++) heaps[i].strict.countdown = -1;
}

static void set_heap_up(int index) {
  struct fuzzed_heap *heap = &heaps[index];
  before_call();
  if (heap->provided) {
    strict_start(&heap->strict);
    heap->strict.allocate = index == 3;
    before_call();
    heap->heap = loam_heap_new_with_provider(&heap->strict.provider);
  } else {
    heap->heap = loam_heap_new();
  }
  has_taken(heap->heap, 1);
}

/* Index of a heap that is there, or NO_HEAP. */
static int take_heap(void) {
  int index = (int)(take_byte(&input) % HEAPS);
  heaps[index].provided = index >= 2;
  if (heaps[index].heap == NULL) set_heap_up(index);
  return heaps[index].heap == NULL ? NO_HEAP : index;
}

static void forget_blocks_of(int heap) {
  for (size_t i = block_count; i-- > 0;) {
    if (blocks[i].heap != heap) continue;
    shadow_compare(&blocks[i], SIZE_MAX);
    shadow_remove(&blocks[i]);
  }
}

static void destroy_heap(int index) {
  struct fuzzed_heap *heap = &heaps[index];
  if (heap->heap == NULL) return;
  forget_blocks_of(index);
  loam_heap_destroy(heap->heap);
  heap->heap = NULL;
  if (!heap->provided) return;
  strict_check_all_released(&heap->strict);
  for (int i = 0; i < 16; i++) loam_free(heap->strict.kept[i]);
}

static void count_block(void *context, void *address, size_t size, int in_use) {
  size_t *left = context;
  if (!in_use) return;
  for (size_t i = 0; i < block_count; i++) {
    if (blocks[i].address != address) continue;
    CHECK_EQ(size, blocks[i].usable);
    CHECK(*left > 0);
    --*left;
    return;
  }
  CHECK(!"a block that nobody took");
}

/* Visiting finds each block of the heap's that is in use, and no other. */
static void check_heap_blocks(int index) {
  size_t count = 0;
  for (size_t i = 0; i < block_count; i++) count += blocks[i].heap == index;
  if (count > 300) return;
  loam_heap_visit(heaps[index].heap, count_block, &count);
  CHECK_EQ(count, 0);
}

/* ---- Calls that take blocks ---- */

static bool may_take(size_t size) {
  return block_count < BLOCKS_MAX &&
         (size >= SURELY_BYTES || block_bytes + size < LIVE_BYTES_MAX);
}

/* A block that a call has returned: into the shadow. */
static void keep(unsigned char *address, size_t size, size_t alignment, int heap,
                 enum origin origin) {
  if (!has_taken(address, size)) return;
  struct block b = {address, size, loam_malloc_usable_size(address), 0, alignment, 0, heap, origin};
  b.seed = ++next_seed * 0x2545f4914f6cdd1dull;
  CHECK_EQ((uintptr_t)address % lm_max(alignment, 16), 0);
  CHECK_THAT(b.usable, >=, size);
  if (size >= SURELY_BYTES) {
    loam_free(address);
    return;
  }
  shadow_write(&b, next_seed % 2 == 0 ? b.usable : size);
  shadow_add(&b);
}

static void do_malloc(void) {
  size_t size = take_size();
  if (!may_take(size)) return;
  before_call();
  keep(loam_malloc(size), size, 0, NO_HEAP, FROM_MALLOC);
}

static void do_calloc(void) {
  size_t size = take_size(), count = take_chance(&input, 128) ? 1 : take_byte(&input), bytes;
  bool overflows = __builtin_mul_overflow(size, count, &bytes);
  if (overflows) bytes = SIZE_MAX;
  if (!may_take(bytes)) return;
  before_call();
  unsigned char *address = loam_calloc(count, size);
  if (address != NULL && bytes < SURELY_BYTES) check_all_zero(address, bytes);
  keep(address, bytes, 0, NO_HEAP, FROM_MALLOC);
}

static void do_aligned_alloc(void) {
  size_t alignment = take_alignment(), size = take_size();
  if (!may_take(size)) return;
  before_call();
  unsigned char *address = loam_aligned_alloc(alignment, size);
  if (is_alignment(alignment)) {
    keep(address, size, alignment, NO_HEAP, FROM_ALIGNED_ALLOC);
  } else {
    CHECK_EQ(address, NULL);
    CHECK_EQ(errno, EINVAL);
  }
}

static void do_posix_memalign(void) {
  size_t alignment = take_alignment(), size = take_size();
  if (!may_take(size)) return;
  void *untouched = &input, *address = untouched;
  before_call();
  int error = loam_posix_memalign(&address, alignment, size);
  CHECK_EQ(errno, ERRNO_BEFORE);
  if (!is_alignment(alignment) || alignment < sizeof(void *)) CHECK_EQ(error, EINVAL);
  if (error != 0) CHECK_EQ(address, untouched);
  if (error == EINVAL) return;
  if (error != 0) errno = error;
  keep(error != 0 ? NULL : address, size, alignment, NO_HEAP, FROM_OTHERS);
}

static void do_memalign(void) {
  size_t alignment = take_alignment(), size = take_size();
  if (!may_take(size)) return;
  before_call();
  unsigned char *address = loam_memalign(alignment, size);
  size_t rounded = 1;
  while (rounded < alignment) rounded *= 2;
  keep(address, size, rounded, NO_HEAP, FROM_OTHERS);
}

static void do_valloc(void) {
  size_t size = take_size();
  bool whole = take_chance(&input, 128);
  if (!may_take(size)) return;
  before_call();
  unsigned char *address = whole ? loam_pvalloc(size) : loam_valloc(size);
  if (whole && address != NULL) size = lm_align_up(size, PAGE);
  keep(address, size, PAGE, NO_HEAP, FROM_OTHERS);
}

static void do_heap_take(void) {
  int heap = take_heap();
  unsigned call = take_byte(&input) % 3;
  size_t size = take_size(), alignment = take_alignment();
  if (heap == NO_HEAP || size >= SURELY_BYTES || !may_take(size)) return;
  struct loam_heap *from = heaps[heap].heap;
  unsigned char *address;
  before_call();
  if (call == 2) {
    address = loam_heap_memalign(from, alignment, size);
    if (!is_alignment(alignment)) {
      CHECK_EQ(address, NULL);
      CHECK_EQ(errno, EINVAL);
      return;
    }
  } else {
    address = call == 1 ? loam_heap_calloc(from, 1, size) : loam_heap_malloc(from, size);
    if (address != NULL && call == 1) check_all_zero(address, size);
  }
  keep(address, size, call == 2 ? alignment : 0, heap, FROM_OTHERS);
}

/* So many of one size, or about it, that spans fill up. */
static void do_take_many(void) {
  size_t size = take_small_size(), spread = take_chance(&input, 60) ? 300 : 1;
  unsigned count = take_word(&input) % (take_chance(&input, 200) ? 300 : 6000);
  int heap = take_chance(&input, 40) ? take_heap() : NO_HEAP;
  for (unsigned i = 0; i < count && may_take(size); i++) {
    size_t this_size = size + i * 37 % spread;
    before_call();
    if (heap == NO_HEAP) keep(loam_malloc(this_size), this_size, 0, NO_HEAP, FROM_MALLOC);
    else keep(loam_heap_malloc(heaps[heap].heap, this_size), this_size, 0, heap, FROM_OTHERS);
  }
}

/* ---- Calls that give blocks back ---- */

static void give(struct block *b, unsigned form) {
  shadow_compare(b, SIZE_MAX);
  struct block given = *b;
  shadow_remove(b);
  before_call();
  if (given.heap != NO_HEAP && form % 2 == 0)
    loam_heap_free(heaps[given.heap].heap, given.address);
  else if (given.origin == FROM_MALLOC && form % 3 == 0) loam_free_sized(given.address, given.size);
  else if (given.origin == FROM_ALIGNED_ALLOC && form % 3 == 0)
    loam_free_aligned_sized(given.address, given.alignment, given.size);
  else loam_free(given.address);
  after_free();
}

static void do_free(void) {
  unsigned form = take_byte(&input);
  struct block *b = any_block();
  if (b != NULL) give(b, form);
}

/* Every so-manieth of a part, from either end. */
static void do_free_many(void) {
  unsigned first = take_word(&input), count = take_word(&input), step = take_byte(&input) % 9 + 1;
  bool backwards = take_chance(&input, 128);
  for (unsigned i = 0; i < count && block_count > 0; i += step) {
    size_t index = backwards ? block_count - 1 - i % block_count : (first + i) % block_count;
    give(&blocks[index], i);
  }
}

static void do_free_nothing(void) {
  before_call();
  loam_free(NULL);
  loam_free_sized(NULL, take_byte(&input));
  loam_free_aligned_sized(NULL, 16, 16);
  loam_heap_free(NULL, NULL);
  loam_heap_destroy(NULL);
  CHECK_EQ(loam_malloc_usable_size(NULL), 0);
  after_free();
}

/* ---- Calls that resize ---- */

/* What realloc has answered for `b`, which had a copy taken of it as `old`. */
static void keep_resized(struct block *b, unsigned char *address, size_t size) {
  if (!has_taken(address, size)) {
    shadow_compare(b, SIZE_MAX);
    return;
  }
  block_bytes += size - b->size;
  b->address = address;
  shadow_compare(b, lm_min(b->size, size));
  b->size = size;
  b->usable = loam_malloc_usable_size(address);
  CHECK_EQ((uintptr_t)address % 16, 0);
  CHECK_THAT(b->usable, >=, size);
  b->seed = ++next_seed * 0x2545f4914f6cdd1dull;
  shadow_write(b, next_seed % 2 == 0 ? b->usable : size);
}

static void *resize(const struct block *b, unsigned form, size_t size) {
  size_t half = size / 2;
  if (b->heap != NO_HEAP && form % 4 != 0)
    return loam_heap_realloc(heaps[b->heap].heap, b->address, size);
  if (form % 3 == 0 && size % 2 == 0) return loam_reallocarray(b->address, half, 2);
  return loam_realloc(b->address, size);
}

static void do_resize(struct block *b, size_t size) {
  unsigned form = take_byte(&input);
  if (size > b->size && !may_take(size - b->size)) return;
  if (size >= SURELY_BYTES && size < PTRDIFF_MAX) return; /* it might succeed, and be copied */
  shadow_compare(b, SIZE_MAX);
  before_call();
  unsigned char *address = resize(b, form, size);
  if (size == 0) {
    CHECK_EQ(address, NULL);
    after_free();
    shadow_remove(b);
    return;
  }
  bool leaves = b->heap != NO_HEAP && form % 4 == 0 && address != NULL && address != b->address;
  keep_resized(b, address, size);
  if (leaves) b->heap = NO_HEAP;
  if (address != NULL && b->heap == NO_HEAP) b->origin = FROM_MALLOC;
}

static void do_realloc(void) {
  struct block *b = any_block();
  if (b != NULL) do_resize(b, take_size());
}

/* As a vector grows. */
static void do_grow(void) {
  struct block *b = any_block();
  if (b == NULL) return;
  size_t index = (size_t)(b - blocks);
  for (unsigned steps = take_byte(&input) % 24; steps > 0; steps--)
    do_resize(&blocks[index], blocks[index].size + blocks[index].size / 2 + 9);
}

static void do_realloc_nothing(void) {
  size_t size = take_size();
  if (!may_take(size)) return;
  before_call();
  keep(loam_realloc(NULL, size), size, 0, NO_HEAP, FROM_MALLOC);
}

static void do_reallocarray_too_much(void) {
  struct block *b = any_block();
  if (b == NULL) return;
  before_call();
  CHECK_EQ(loam_reallocarray(b->address, SIZE_MAX / 16 + 1, 16), NULL);
  CHECK_EQ(errno, ENOMEM);
  shadow_compare(b, SIZE_MAX);
}

/* ---- Calls about all of memory ---- */

static void do_trim(void) {
  before_call();
  int result = loam_malloc_trim(take_chance(&input, 200) ? 0 : take_word(&input) * 100);
  CHECK(result == 0 || result == 1);
  after_free();
}

/* Ages pages by the hour. */
static void do_wait(void) {
  uint64_t hour_ms = 3600000;
  size_t effort = SIZE_MAX / 2;
  if (take_chance(&input, 30)) sleep_ms(2);
  lm_pool_tick(lm_os_clock_ms() + hour_ms, &effort);
}

static void do_statistics(void) {
  static struct loam_stats stats;
  static struct loam_class_stats classes[LM_CLASS_COUNT + 8];
  before_call();
  loam_stats(&stats, sizeof stats);
  size_t count = loam_stats_of_classes(classes, COUNT_OF(classes));
  struct loam_mallinfo2 info = loam_mallinfo2();
  CHECK_EQ(errno, ERRNO_BEFORE);
  CHECK_THAT(count, <=, COUNT_OF(classes));
  CHECK_THAT(info.arena, >=, info.uordblks);
  size_t carved = 0, used = 0;
  for (size_t i = 0; i < count; i++) {
    const struct loam_class_stats *c = &classes[i];
    carved += c->carved_count;
    used += c->used_count + c->cache_count + c->depot_count + c->free_count + c->hole_count;
  }
  CHECK_EQ(carved, used);
}

static void do_heap_all(void) {
  int heap = take_heap();
  unsigned what = take_byte(&input) % 4;
  if (heap == NO_HEAP) return;
  if (what == 0) {
    destroy_heap(heap);
  } else if (what == 1) {
    forget_blocks_of(heap);
    loam_heap_free_all(heaps[heap].heap);
    check_heap_blocks(heap);
  } else {
    check_heap_blocks(heap);
  }
}

/* ---- What goes wrong ---- */

static void do_faults(void) {
  end_faults();
  unsigned more = take_byte(&input);
  lm_fault_more = more < 128 ? 0 : more < 200 ? more % 8 : LONG_MAX;
  lm_fault_countdown = take_byte(&input) % 16;
  faulty_operations = take_byte(&input) % 12 + 1;
  had_faults = true;
}

static void do_provider_faults(void) {
  struct strict *strict = &heaps[2 + take_byte(&input) % 2].strict;
  if (strict->provider.context == NULL) return;
  strict->countdown = take_byte(&input) % 8;
  strict->all = 0;
  had_faults = true;
  faulty_operations = lm_max(faulty_operations, 6);
}

/* Address space ends during some calls. */
static void do_limited(void) {
  struct rlimit before, limit;
  if (heaps[2].heap != NULL || heaps[3].heap != NULL || !drive_owns_process) return;
  CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = (rlim_t)take_word(&input) << 18;
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  limited = true;
  for (unsigned calls = take_byte(&input) % 16; calls > 0; calls--) {
    if (calls % 4 == 3) do_free();
    else if (calls % 4 == 2) do_realloc();
    else if (calls % 4 == 1) do_calloc();
    else do_malloc();
  }
  CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
  limited = false;
}

/* ---- Threads in turn: one acts, the others wait ---- */

struct actor {
  pthread_t thread;
  sem_t go;
  bool alive, ends;
  uint64_t storm_seed; /* not 0: takes part in a storm */
};
static struct actor actors[ACTORS];
static unsigned acting; /* index of the actor; 0 is the main thread */
static unsigned storm_length;
static sem_t done;
static pthread_key_t late_key; /* its destructor still allocates and frees */

enum pause { NOT_PAUSED, TO_SWITCH, TO_END, TO_STORM };
static enum pause pause_reason; /* what the main thread is to see to */
static unsigned actor_to_end;

static void do_switch(void) {
  acting = take_byte(&input) % ACTORS;
  pause_reason = TO_SWITCH;
}

static void do_end(void) {
  actor_to_end = take_byte(&input) % (ACTORS - 1) + 1;
  pause_reason = TO_END;
}

static void do_storm(void) {
  storm_length = take_byte(&input) * 3 + 100;
  pause_reason = TO_STORM;
}

/* ---- Forks ---- */

static void await_child(pid_t child) {
  int status;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {} /* libFuzzer's clock */
  CHECK_EQ(ended, child);
  CHECK_EQ(status, 0);
}

static void be_child(unsigned choice) {
  alarm(100);
  end_faults();
  shadow_check();
  for (unsigned i = 0; i < 60; i++) {
    size_t size = (size_t)1 << i % 21;
    before_call();
    if (may_take(size)) keep(loam_malloc(size + choice), size + choice, 0, NO_HEAP, FROM_MALLOC);
    if (block_count > 0) give(&blocks[i * 31 % block_count], i + choice);
  }
  if (choice % 3 == 0)
    while (block_count > 0) give(&blocks[0], choice);
  for (int i = 0; i < HEAPS && choice % 2 == 0; i++) destroy_heap(i);
  loam_malloc_trim(0);
  shadow_check();
  _exit(0);
}

static void do_fork(void) {
  unsigned choice = take_byte(&input);
  end_faults();
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) be_child(choice);
  await_child(child);
}

/* ---- The table of operations ---- */

static const struct operation {
  const char *name;
  void (*run)(void);
  unsigned weight;
} operations[] = {
    {"malloc", do_malloc, 40},
    {"calloc", do_calloc, 16},
    {"realloc", do_realloc, 24},
    {"grow", do_grow, 6},
    {"realloc nothing", do_realloc_nothing, 2},
    {"reallocarray too much", do_reallocarray_too_much, 1},
    {"aligned_alloc", do_aligned_alloc, 8},
    {"posix_memalign", do_posix_memalign, 6},
    {"memalign", do_memalign, 5},
    {"valloc", do_valloc, 3},
    {"free", do_free, 44},
    {"free nothing", do_free_nothing, 1},
    {"take many", do_take_many, 10},
    {"free many", do_free_many, 14},
    {"take from heap", do_heap_take, 16},
    {"all of a heap", do_heap_all, 4},
    {"trim", do_trim, 4},
    {"wait", do_wait, 3},
    {"statistics", do_statistics, 2},
    {"faults", do_faults, 6},
    {"faults of a provider", do_provider_faults, 1},
    {"limited", do_limited, 2},
    {"switch", do_switch, 30},
    {"end", do_end, 4},
    {"storm", do_storm, 2},
    {"fork", do_fork, 2},
};
enum { WEIGHTS = 256 };

static const struct operation *take_operation(void) {
  unsigned at = take_byte(&input), sum = 0;
  for (size_t i = 0; i < COUNT_OF(operations); i++) {
    sum += operations[i].weight;
    if (at < sum) return &operations[i];
  }
  return &operations[0];
}

/* What loam's records say of each other, but for other threads' caches. */
static void check_records(void) {
  const struct lm_cache *cache = LM_THREAD(lm_this_cache);
  if (!lm_cache_is_empty(cache)) lm_cache_validate(cache);
  for (int i = 0; i < HEAPS; i++)
    if (heaps[i].heap != NULL) lm_central_validate(&heaps[i].heap->central);
  validate_all();
}

/* Until the input is over or the main thread has to see to something. */
static void act(void) {
  pause_reason = NOT_PAUSED;
  while (input.left > 0 && pause_reason == NOT_PAUSED) {
    const struct operation *operation = take_operation();
    drive_tell("%zu: thread %u: %s", operation_count, acting, operation->name);
    operation->run();
    if (faulty_operations > 0 && --faulty_operations == 0) end_faults();
    if (++operation_count % 256 != 0) continue;
    shadow_check();
    check_records();
  }
}

/* ---- A storm: all threads at once ---- */

static struct block storm_pool[ACTORS * STORM_BLOCKS + SHARED_BLOCKS];
static struct block *shared[SHARED_BLOCKS]; /* swapped atomically */

static void storm_free(struct block *b) {
  if (b->address == NULL) return;
  shadow_compare(b, SIZE_MAX);
  loam_free(b->address);
  b->address = NULL;
}

static size_t storm_size(uint64_t *random) {
  uint64_t kind = random_next(random) % 64, detail = random_next(random);
  return kind < 40 ? detail % 700 : kind < 58 ? detail % (40 * KIB) : detail % (3 * MIB);
}

static void storm_take(struct block *b, uint64_t *random) {
  storm_free(b);
  *b = (struct block){.size = storm_size(random), .seed = random_next(random), .heap = NO_HEAP};
  if (random_next(random) % 4 == 0) {
    b->address = loam_calloc(1, b->size);
    CHECK(b->address != NULL);
    check_all_zero(b->address, b->size);
  } else if (heaps[0].heap != NULL && random_next(random) % 4 == 0) {
    b->address = loam_heap_malloc(heaps[0].heap, b->size);
  } else {
    b->address = loam_malloc(b->size);
  }
  CHECK(b->address != NULL);
  shadow_write(b, b->size);
}

static void storm_resize(struct block *b, uint64_t *random) {
  if (b->address == NULL) return;
  size_t size = storm_size(random) + 1;
  shadow_compare(b, SIZE_MAX);
  b->address = loam_realloc(b->address, size);
  CHECK(b->address != NULL);
  shadow_compare(b, lm_min(b->size, size));
  b->size = size;
  shadow_write(b, size);
}

static void storm_fork(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(100);
    for (size_t size = 1; size < 4 * MIB; size *= 3) loam_free(opaque(loam_malloc(size)));
    _exit(0);
  }
  await_child(child);
}

static void storm(unsigned actor, uint64_t random) {
  struct block *own[STORM_BLOCKS];
  for (unsigned i = 0; i < STORM_BLOCKS; i++) own[i] = &storm_pool[actor * STORM_BLOCKS + i];
  for (unsigned i = 0; i < storm_length; i++) {
    struct block **b = &own[random_next(&random) % STORM_BLOCKS];
    uint64_t what = random_next(&random) % 256;
    if (what < 100) storm_take(*b, &random);
    else if (what < 180)
      *b = __atomic_exchange_n(&shared[random_next(&random) % SHARED_BLOCKS], *b, __ATOMIC_ACQ_REL);
    else if (what < 210) storm_free(*b);
    else if (what < 250) storm_resize(*b, &random);
    else if (what < 252) loam_malloc_trim(0);
    else if (what < 253 && i % 4 == 0) storm_fork();
    else if (what < 254) (void)loam_mallinfo2();
  }
}

/* ---- The main thread ---- */

static void *be_actor(void *argument) {
  struct actor *self = argument;
  for (;;) {
    while (sem_wait(&self->go) != 0) {}
    if (self->ends) return NULL;
    if (self->storm_seed != 0) storm((unsigned)(self - actors), self->storm_seed);
    else act();
    sem_post(&done);
  }
}

/* A thread's last calls come when its heap may have ended. */
static void act_late(void *value) {
  void *volatile block = loam_malloc((size_t)(uintptr_t)value);
  if (block_count > 0) give(&blocks[0], 1);
  loam_free(block);
}

static void *be_actor_with_late_calls(void *argument) {
  pthread_setspecific(late_key, (void *)(uintptr_t)(next_seed % 5000 + 1));
  return be_actor(argument);
}

static void give_birth(unsigned index) {
  struct actor *actor = &actors[index];
  if (actor->alive) return;
  sem_init(&actor->go, 0, 0);
  actor->ends = false;
  actor->alive = true;
  actor->thread = start_thread(index % 2 == 0 ? be_actor : be_actor_with_late_calls, actor);
}

static void let_act(unsigned index) {
  give_birth(index);
  sem_post(&actors[index].go);
}

static void await(void) {
  while (sem_wait(&done) != 0) {}
}

static void end_actor(unsigned index) {
  struct actor *actor = &actors[index];
  if (!actor->alive) return;
  actor->ends = true;
  sem_post(&actor->go);
  join_thread(actor->thread);
  actor->alive = false;
  if (acting == index) acting = 0;
}

static void make_storm(void) {
  end_faults();
  for (unsigned i = 0; i < SHARED_BLOCKS; i++) shared[i] = &storm_pool[ACTORS * STORM_BLOCKS + i];
  for (unsigned i = 1; i < ACTORS; i++) {
    actors[i].storm_seed = next_seed * ACTORS + i + 1;
    let_act(i);
  }
  storm(0, next_seed + 1);
  for (unsigned i = 1; i < ACTORS; i++) await();
  for (unsigned i = 0; i < ACTORS; i++) actors[i].storm_seed = 0;
  for (size_t i = 0; i < COUNT_OF(storm_pool); i++) storm_free(&storm_pool[i]);
}

static void see_to_pause(void) {
  enum pause reason = pause_reason;
  pause_reason = NOT_PAUSED;
  if (reason == TO_END) end_actor(actor_to_end);
  if (reason == TO_STORM) make_storm();
}

/* ---- One input ---- */

/* How the process is, from its start on; not where many inputs share one. */
static void take_variant(void) {
  unsigned variant = take_byte(&input);
  lm_options.purge_delay_ms = variant & 1 ? 3600000 : variant & 2 ? 1 : 500;
  lm_options.cache_bytes = variant & 128 ? 0 : LM_CACHE_AUTO;
  lm_options.heap_cache_bytes = variant & 128 ? 0 : LM_CACHE_AUTO;
  if (!drive_owns_process) return;
  lm_central_count = 1 + take_byte(&input) % 4;
  if ((variant & 12) == 12) lm_os.overcommit = false;
  if ((variant & 28) == 28) lm_os.purge_decommits = true;
  lm_options.fill = (variant & 96) == 32   ? LM_FILL_JUNK
                    : (variant & 96) == 64 ? LM_FILL_ZERO
                                           : LM_FILL_OFF;
  lm_fill_watch();
  if ((variant & 96) == 96) lm_options.huge_pages = LM_HUGE_PAGES_ALWAYS;
}

static void check_that_nothing_is_left(void) {
  static struct loam_stats stats;
  if (had_faults) return; /* what the system has taken away stays counted */
  if (lm_os.purge_decommits) return; /* where lists of other threads' caches are not looked through */
  lm_checked_end();
  loam_stats(&stats, sizeof stats);
  CHECK_EQ(stats.used_count, 0);
  CHECK_EQ(stats.used_bytes, 0);
}

static void fuzz_allocator(const uint8_t *bytes, size_t size) {
  input = (struct fuzz_bytes){bytes, size};
  operation_count = acting = 0;
  next_seed = size;
  had_faults = false;
  take_variant();
  while (input.left > 0) {
    if (acting == 0) {
      act();
    } else {
      let_act(acting);
      await();
    }
    see_to_pause();
  }
  end_faults();
  shadow_check();
  while (block_count > 0) give(&blocks[0], (unsigned)block_count);
  for (unsigned i = 1; i < ACTORS; i++) end_actor(i);
  for (int i = 0; i < HEAPS; i++) destroy_heap(i);
  check_records();
  check_that_nothing_is_left();
}

static void start_once(void) {
  static bool started;
  if (started) return;
  started = true;
  lm_process_start();
  sem_init(&done, 0, 0);
  CHECK_EQ(pthread_key_create(&late_key, act_late), 0);
  unsigned sum = 0;
  for (size_t i = 0; i < COUNT_OF(operations); i++) sum += operations[i].weight;
  CHECK_EQ(sum, WEIGHTS);
}

void fuzz_one(const uint8_t *bytes, size_t size) {
  start_once();
  fuzz_allocator(bytes, size);
}
