/* fd, report 2121: a program with an allocator of its own that is preloaded with another one ends,
 * since some functions are the program's and those that it does not define are the other's. Whatever
 * derives from malloc and free serves and takes the program's blocks. */
#include "names.h"
#include "own_malloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

void *malloc(size_t size) { return own_take(16, size); }
void *calloc(size_t count, size_t size) { return own_take(16, count * size); }
void *realloc(void *block, size_t size) { return own_resize(block, size); }
void free(void *block) { own_give(block); }
size_t malloc_usable_size(void *block) { return block == NULL ? 0 : own_size(block); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  *result = own_take(alignment, size);
  return 0;
}

static void *work(void *unused) {
  free(strdup("thread"));
  return unused;
}

/* reallocarray and aligned_alloc are not defined above: theirs are a preloaded library's. */
static void take_and_give(void) {
  char *block = reallocarray(NULL, 10, 10);
  CHECK(own_has(block));
  memset(block, 1, 100);
  block = reallocarray(block, 100, 10);
  CHECK(own_has(block) && block[99] == 1);
  free(block);
  size_t too_many = SIZE_MAX;
  opaque(&too_many);
  errno = 0;
  CHECK(reallocarray(NULL, too_many, 2) == NULL && errno == ENOMEM);
  void *aligned[] = {aligned_alloc(64, 640), memalign(4096, 1), valloc(10), aligned_alloc(16, 16)};
  for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++) {
    CHECK(own_has(aligned[i]));
    free(aligned[i]);
  }
  CHECK((uintptr_t)aligned[0] % 64 == 0 && (uintptr_t)aligned[1] % 4096 == 0);
}

static void use_libc(void) {
  char *text, *line = NULL;
  size_t size = 0;
  CHECK(asprintf(&text, "%d", 17) == 2);
  free(text);
  free(realpath(".", NULL));
  FILE *file = fopen("/proc/self/maps", "r");
  while (getline(&line, &size, file) > 0) {}
  free(line);
  fclose(file);
}

int main(void) {
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    take_and_give();
    use_libc();
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_join(thread, NULL);
  }
  if (free_sized != NULL) { /* the preloaded library's */
    free_sized(malloc(10), 10);
    free_aligned_sized(aligned_alloc(64, 64), 64, 64);
  }
  CHECK(own_foreign == 0);
  return 0;
}
