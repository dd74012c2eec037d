/* Uses what the system has to provide: threads that end, memory that grows, a heap of its own. */
#include <loam/loam.h>
#include <pthread.h>
#include <string.h>

static void *use(void *unused) {
  for (size_t size = 1; size < 40000; size += 37) {
    char *block = loam_malloc(size);
    memset(block, 1, size);
    loam_free(loam_realloc(block, size * 2));
  }
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  struct loam_heap *heap = loam_heap_new();
  loam_free(loam_heap_malloc(heap, 100));
  loam_heap_destroy(heap);
  return 0;
}
