// windows: yes
/* Blocks of a first-class heap are ordinary blocks: free and realloc take them, in any thread, also
 * in one that has ended its own heap, and the heap has their memory again. */
#include "names.h"
#include "threads.h"

enum { BLOCKS = 3000 };
static struct loam_heap *heap;
static unsigned char *blocks[BLOCKS];
static pthread_key_t key;

static size_t size_of(size_t i) { return i % 100 == 99 ? 400000 : i % 10 == 9 ? 50000 : 1 + i % 999; }

static void allocate(void) {
  for (size_t i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(loam_heap_malloc(heap, size_of(i)));
    CHECK(blocks[i] != NULL);
    fill(blocks[i], 0, size_of(i) < 64 ? size_of(i) : 64, (unsigned)i);
  }
}

static void *free_all_of_them(void *unused) {
  for (size_t i = 0; i < BLOCKS; i++) free(blocks[i]);
  return unused;
}

static void *resize_all_of_them(void *unused) {
  for (size_t i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(realloc(blocks[i], size_of(i) + 5000));
    check_filled(blocks[i], 0, size_of(i) < 64 ? size_of(i) : 64, (unsigned)i);
  }
  return unused;
}

static void *arm(void *unused) {
  free(opaque(malloc(10)));
  pthread_setspecific(key, &key);
  return unused;
}

/* Comes again and again, at last after loam's own destructor. */
static void free_at_the_end(void *value) {
  static int calls;
  if (++calls < 4) pthread_setspecific(key, value);
  else free_all_of_them(NULL);
}

int main(void) {
  heap = loam_heap_new();
  allocate();
  size_t in_use = loam_mallinfo2().uordblks;
  for (int round = 0; round < 20; round++) {
    if (round % 2 == 0) run_in_thread(free_all_of_them, NULL);
    else free_all_of_them(NULL);
    allocate();
    CHECK_THAT(loam_mallinfo2().uordblks, <, in_use + 8 * MIB);
  }
  run_in_thread(resize_all_of_them, NULL);
  loam_heap_free_all(heap);
  for (size_t i = 0; i < BLOCKS; i++)
    if (size_of(i) + 5000 < 40000) free(blocks[i]); /* has moved out of the heap */
  allocate();
  CHECK_EQ(pthread_key_create(&key, free_at_the_end), 0);
  run_in_thread(arm, NULL);
  loam_heap_destroy(heap);
  return 0;
}
