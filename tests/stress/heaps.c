// arguments: 1 11 4
// long-arguments: 20 11 4
/* Threads allocate from two shared heaps and one of their own, pass blocks on, and free and resize
 * them by either name; their own heap they empty as a whole now and then. */
#include "blocks.h"

enum { SHARED = 128, PRIVATE = 64, OWN = 100 };
struct entry {
  struct loam_heap *heap;
  struct record record;
};
static struct entry *shared[SHARED]; /* swapped atomically by all threads */
static struct loam_heap *heaps[2];
static struct stress stress;

static void allocate(struct entry *entry, struct loam_heap *heap, uint64_t *random) {
  struct record *record = &entry->record;
  entry->heap = heap;
  record->seed = (unsigned)random_next(random);
  record->size = random_size(random);
  size_t alignment = (size_t)16 << random_next(random) % 9;
  switch (random_next(random) % 4) {
  case 0: record->block = opaque(loam_heap_calloc(heap, 1, record->size)); break;
  case 1: record->block = opaque(loam_heap_memalign(heap, alignment, record->size)); break;
  default: record->block = opaque(loam_heap_malloc(heap, record->size));
  }
  CHECK(record->block != NULL);
  record_fill(record);
}

static void resize(struct entry *entry, uint64_t *random) {
  struct record *record = &entry->record;
  unsigned seed = record_seed(record);
  size_t size = random_size(random), old_size = record->size;
  record_check(record, old_size, seed);
  record->block = opaque(loam_heap_realloc(entry->heap, record->block, size));
  CHECK(record->block != NULL);
  size_t smaller = size < old_size ? size : old_size;
  check_filled(record->block, 0, smaller < 512 ? smaller : 512, seed);
  record->size = size;
  record_fill(record);
}

static void end(struct entry *entry, uint64_t *random) {
  struct record *record = &entry->record;
  if (record->block == NULL) return;
  record_check(record, record->size, record_seed(record));
  if (random_next(random) % 2 == 0) loam_heap_free(entry->heap, record->block);
  else free(record->block);
  record->block = NULL;
}

static void use_own(struct loam_heap *heap, uint64_t *random) {
  struct entry own[OWN];
  for (int i = 0; i < OWN; i++) allocate(&own[i], heap, random);
  for (int i = 0; i < OWN; i += 3) end(&own[i], random);
  for (int i = 1; i < OWN; i += 3)
    record_check(&own[i].record, own[i].record.size, record_seed(&own[i].record));
  loam_heap_free_all(heap);
}

static void *work(void *index) {
  uint64_t random = stress.seed * 1000003 + (uintptr_t)index + 1;
  struct entry *entries[PRIVATE];
  struct loam_heap *own = loam_heap_new();
  for (int i = 0; i < PRIVATE; i++) entries[i] = opaque(calloc(1, sizeof *entries[i]));
  for (double stop = seconds_now() + stress.seconds; seconds_now() < stop;) {
    for (int i = 0; i < 200; i++) {
      struct entry **entry = &entries[random_next(&random) % PRIVATE];
      switch (random_next(&random) % 4) {
      case 0:
        if ((*entry)->record.block != NULL) resize(*entry, &random);
        break;
      case 1:
        *entry = __atomic_exchange_n(&shared[random_next(&random) % SHARED], *entry,
                                     __ATOMIC_ACQ_REL);
        break;
      default:
        end(*entry, &random);
        allocate(*entry, heaps[random_next(&random) % 2], &random);
      }
    }
    use_own(own, &random);
    if (random_next(&random) % 4 == 0) loam_heap_destroy(own), own = loam_heap_new();
  }
  loam_heap_destroy(own);
  for (int i = 0; i < PRIVATE; i++) end(entries[i], &random), free(entries[i]);
  return NULL;
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  for (int i = 0; i < 2; i++) heaps[i] = loam_heap_new();
  for (int i = 0; i < SHARED; i++) shared[i] = opaque(calloc(1, sizeof *shared[i]));
  stress_run(&stress, work);
  for (int i = 0; i < 2; i++) loam_heap_destroy(heaps[i]); /* with what is in the table */
  for (int i = 0; i < SHARED; i++) free(shared[i]);
  return 0;
}
