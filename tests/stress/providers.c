// windows: yes
// arguments: 1 17 4
// long-arguments: 20 17 4
/* Threads allocate from heaps with page providers and from ordinary memory, pass blocks on, and
 * free them by either name; each block is where it belongs. Each thread makes and destroys heaps of
 * its own meanwhile. */
#include "blocks.h"
#include "provider.h"

enum { HEAPS = 2, SHARED = 128, OWN = 60 };
struct entry {
  int heap; /* -1: ordinary memory */
  struct record record;
};
static struct entry *shared[SHARED]; /* swapped atomically by all threads */
static struct strict stricts[HEAPS];
static struct loam_heap *heaps[HEAPS];
static struct stress stress;

static void allocate(struct entry *entry, uint64_t *random) {
  struct record *record = &entry->record;
  entry->heap = (int)(random_next(random) % (HEAPS + 1)) - 1;
  record->seed = (unsigned)random_next(random);
  record->size = random_size(random);
  if (entry->heap < 0) record->block = opaque(malloc(record->size));
  else record->block = opaque(loam_heap_malloc(heaps[entry->heap], record->size));
  CHECK(record->block != NULL);
  for (int i = 0; i < HEAPS; i++)
    CHECK_EQ(strict_has(&stricts[i], record->block), i == entry->heap);
  record_fill(record);
}

static void end(struct entry *entry, uint64_t *random) {
  struct record *record = &entry->record;
  if (record->block == NULL) return;
  record_check(record, record->size, record_seed(record));
  if (entry->heap >= 0 && random_next(random) % 2 == 0)
    loam_heap_free(heaps[entry->heap], record->block);
  else free(record->block);
  record->block = NULL;
}

static void use_own(struct strict *strict, uint64_t *random) {
  struct record records[OWN];
  struct loam_heap *heap = strict_heap(strict);
  for (int i = 0; i < OWN; i++) {
    records[i] = (struct record){NULL, random_size(random), (unsigned)random_next(random)};
    records[i].block = opaque(loam_heap_malloc(heap, records[i].size));
    CHECK(strict_has(strict, records[i].block));
    record_fill(&records[i]);
  }
  for (int i = 0; i < OWN; i++) {
    record_check(&records[i], records[i].size, record_seed(&records[i]));
    if (i % 3 == 0) free(records[i].block);
  }
  loam_heap_destroy(heap);
  strict_check_all_released(strict);
}

static void *work(void *index) {
  uint64_t random = stress.seed * 1000003 + (uintptr_t)index + 1;
  struct strict *own = opaque(malloc(sizeof *own));
  struct entry *entry = opaque(calloc(1, sizeof *entry));
  strict_start(own);
  for (double stop = seconds_now() + stress.seconds; seconds_now() < stop;) {
    for (int i = 0; i < 200; i++) {
      struct entry **place = &shared[random_next(&random) % SHARED];
      entry = __atomic_exchange_n(place, entry, __ATOMIC_ACQ_REL);
      end(entry, &random);
      allocate(entry, &random);
    }
    use_own(own, &random);
  }
  end(entry, &random);
  free(entry);
  free(own);
  return NULL;
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  for (int i = 0; i < HEAPS; i++) {
    strict_start(&stricts[i]);
    heaps[i] = strict_heap(&stricts[i]);
  }
  for (int i = 0; i < SHARED; i++) shared[i] = opaque(calloc(1, sizeof *shared[i]));
  stress_run(&stress, work);
  for (int i = 0; i < HEAPS; i++) {
    loam_heap_destroy(heaps[i]); /* with what is in the table */
    strict_check_all_released(&stricts[i]);
  }
  for (int i = 0; i < SHARED; i++) free(shared[i]);
  return 0;
}
