/* Counts, for 2 to 64 threads, what an operation costs other processors: atomic read-modify-writes,
 * and accesses to cache lines that another thread writes to in the same phase. Only accesses
 * through base/atomic.h are counted; plain fields are a thread's own or under a lock, whose line
 * is counted.
 *
 * Counts do not depend on the machine: a program with 64 threads shows on 2 processors what 64
 * would meet. The figures and what follows from them stand in docs/scaling.md. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

static void count_access(const volatile void *address, int kind);
#define LM_ON_ATOMIC(address, kind) count_access((address), (kind))
#include "../unit/unit.h"

enum { MOST_THREADS = 64, FEW_THREADS = 8, LINES = 1 << 15, POOLS = 16 /* of 64 processors */ };

/* ---- Counting ---- */

struct counted_line {
  uintptr_t line;
  uint32_t loads, writes; /* read-modify-writes are writes */
};

struct counts {
  bool on;
  uint64_t operations, modifies;
  struct counted_line lines[LINES]; /* by a hash of the address */
};

static struct counts all_counts[MOST_THREADS];
static __thread struct counts *counts; /* NULL: this thread's accesses are not counted */

/* The thread's entry for the line, or the free one where it belongs. */
static struct counted_line *find_line(struct counts *c, uintptr_t line) {
  size_t i = (size_t)(line * 0x9e3779b97f4a7c15u >> 32) % LINES;
  for (size_t tries = 0; tries < LINES; tries++, i = (i + 1) % LINES)
    if (c->lines[i].line == line || c->lines[i].line == 0) return &c->lines[i];
  check_failed(__FILE__, __LINE__, "more lines than the table holds", 0, 0);
  return NULL;
}

static void count_access(const volatile void *address, int kind) {
  struct counts *c = counts;
  if (c == NULL || !c->on) return;
  struct counted_line *line = find_line(c, (uintptr_t)address / LM_CACHE_LINE_BYTES);
  line->line = (uintptr_t)address / LM_CACHE_LINE_BYTES;
  if (kind == LM_ATOMIC_LOAD) line->loads++;
  else line->writes++;
  c->modifies += kind == LM_ATOMIC_MODIFY;
}

/* Of all accesses of one thread's, those to lines that another thread wrote to; and of its writes,
 * those to lines that another thread read or wrote. */
static uint64_t shared_accesses(size_t thread, size_t thread_count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < LINES; i++) {
    const struct counted_line *line = &all_counts[thread].lines[i];
    if (line->line == 0) continue;
    bool others_write = false, others_read = false;
    for (size_t t = 0; t < thread_count; t++) {
      if (t == thread) continue;
      const struct counted_line *other = find_line(&all_counts[t], line->line);
      others_write |= other->writes != 0;
      others_read |= other->loads != 0;
    }
    if (others_write) sum += line->loads;
    if (others_write || others_read) sum += line->writes;
  }
  return sum;
}

/* ---- The patterns ---- */

enum { LIVE_MOST = 500 /* at most */, OPERATIONS = 60000, QUEUE = 1024 };

struct worker {
  size_t index;
  const struct pattern *pattern;
  pthread_barrier_t *barrier;
  struct queue *queue; /* shared with its partner */
};

/* Blocks on their way from a thread that allocates to one that frees. */
struct queue {
  _Alignas(LM_CACHE_LINE_BYTES) _Atomic(void *) slots[QUEUE];
};

struct figures {
  double modifies, shared; /* per operation */
};

struct pattern {
  const char *name;
  size_t smallest, largest, live; /* blocks: their bytes, and how many a thread has */
  void (*run)(struct worker *worker, size_t operations);
  struct figures most, most_of_many; /* with up to FEW_THREADS threads, and with more */
};

static size_t random_size(const struct pattern *pattern, uint64_t *random) {
  return pattern->smallest + random_next(random) % (pattern->largest - pattern->smallest + 1);
}

/* Replaces random blocks of the thread's own. Each turn is a free and a malloc. */
static __thread void *live[LIVE_MOST];
static void run_local(struct worker *worker, size_t operations) {
  static __thread uint64_t random;
  if (random == 0) random = worker->index + 1;
  for (size_t i = 0; i < operations; i++) {
    size_t slot = random_next(&random) % worker->pattern->live;
    lm_raw_free(live[slot]);
    live[slot] = lm_raw_malloc(random_size(worker->pattern, &random));
    CHECK(live[slot] != NULL);
  }
  counts->operations += 2 * operations;
}

/* Even threads allocate, odd ones free what their partner has allocated: remote frees only are
 * counted as operations. */
static void run_remote(struct worker *worker, size_t operations) {
  static __thread uint64_t random;
  if (random == 0) random = worker->index + 1;
  for (size_t i = 0; i < operations; i++) {
    _Atomic(void *) *slot = &worker->queue->slots[i % QUEUE];
    void *block = NULL;
    if (worker->index % 2 == 0) {
      block = lm_raw_malloc(random_size(worker->pattern, &random));
      while (atomic_load_explicit(slot, memory_order_acquire) != NULL) sched_yield();
      atomic_store_explicit(slot, block, memory_order_release);
    } else {
      while ((block = atomic_exchange_explicit(slot, NULL, memory_order_acq_rel)) == NULL)
        sched_yield();
      lm_raw_free(block);
      counts->operations++;
    }
  }
}

/* Each thread has its share of heap_cache_bytes: of many threads, or of larger blocks, lists are so
 * short that each few calls go to a central. */
static const struct pattern patterns[] = {
    {"local, 16 to 512 bytes", 16, 512, LIVE_MOST, run_local, {0.0006, 0.0008}, {0.03, 0.06}},
    {"local, 16 to 4096 bytes", 16, 4096, 300, run_local, {0.008, 0.07}, {0.35, 1.2}},
    {"local, 8 to 128 KiB", 8192, 131072, LIVE_MOST, run_local, {1.8, 7.0}, {3.5, 14}},
    /* Large blocks are their pool's each time. */
    {"local, 1 MiB", 1048576, 1048576, 10, run_local, {2.4, 14.5}, {2.4, 14.5}},
    {"remote, 16 to 512 bytes", 16, 512, 0, run_remote, {0.16, 1.0}, {0.4, 1.6}},
};

static void *work(void *data) {
  struct worker *worker = data;
  counts = &all_counts[worker->index];
  worker->pattern->run(worker, OPERATIONS); /* until what it needs is there */
  counts->operations = 0;
  pthread_barrier_wait(worker->barrier);
  counts->on = true;
  worker->pattern->run(worker, OPERATIONS);
  counts->on = false;
  pthread_barrier_wait(worker->barrier);
  for (size_t i = 0; i < LIVE_MOST; i++) lm_raw_free(live[i]);
  return NULL;
}

static struct figures measure(const struct pattern *pattern, size_t thread_count) {
  static struct worker workers[MOST_THREADS];
  static struct queue queues[MOST_THREADS / 2];
  pthread_t threads[MOST_THREADS];
  pthread_barrier_t barrier;
  memset(all_counts, 0, sizeof all_counts);
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, (unsigned)thread_count), 0);
  for (size_t t = 0; t < thread_count; t++) {
    workers[t] = (struct worker){t, pattern, &barrier, &queues[t / 2]};
    CHECK_EQ(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
  }
  for (size_t t = 0; t < thread_count; t++) CHECK_EQ(pthread_join(threads[t], NULL), 0);
  pthread_barrier_destroy(&barrier);
  uint64_t operations = 0, modifies = 0, shared = 0;
  for (size_t t = 0; t < thread_count; t++) {
    operations += all_counts[t].operations;
    modifies += all_counts[t].modifies;
    shared += shared_accesses(t, thread_count);
  }
  return (struct figures){(double)modifies / (double)operations,
                          (double)shared / (double)operations};
}

static bool is_within(struct figures f, const struct pattern *pattern, size_t threads) {
  struct figures most = threads <= FEW_THREADS ? pattern->most : pattern->most_of_many;
  return f.modifies <= most.modifies && f.shared <= most.shared;
}

/* One write to a line makes every load of it by others count, and a thread that the system holds up
 * for long lets its partner's spans change once more: a figure is good if one of several is. */
enum { TRIES = 16 };

int main(void) {
  alarm(500);
  lm_pool_count = POOLS;
  lm_central_count = MOST_THREADS;
  printf("%-26s %8s %24s %24s\n", "pattern", "threads", "read-modify-writes", "shared lines");
  for (size_t p = 0; p < COUNT_OF(patterns); p++) {
    for (size_t threads = 2; threads <= MOST_THREADS; threads *= 2) {
      struct figures f = measure(&patterns[p], threads);
      for (int i = 1; i < TRIES && !is_within(f, &patterns[p], threads); i++)
        f = measure(&patterns[p], threads);
      printf("%-26s %8zu %24.4f %24.4f\n", patterns[p].name, threads, f.modifies, f.shared);
      fflush(stdout);
      CHECK(is_within(f, &patterns[p], threads));
    }
  }
  return 0;
}
