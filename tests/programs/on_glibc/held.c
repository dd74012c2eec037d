// Preloaded into a program on glibc: counts what the program has of malloc's memory, as glibc says how
// much a block holds, into a file that the test reads. glibc serves all of it, also in a program that is
// linked with another malloc.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct held {
  atomic_long count;
  atomic_long bytes;
};

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
size_t malloc_usable_size(void *);

// What is taken before the file is there counts, too.
static struct held early;
static struct held *held = &early;

static void *taken(void *block) {
  if (block != NULL) {
    atomic_fetch_add(&held->count, 1);
    atomic_fetch_add(&held->bytes, (long)malloc_usable_size(block));
  }
  return block;
}

static void given(void *block) {
  if (block != NULL) {
    atomic_fetch_sub(&held->count, 1);
    atomic_fetch_sub(&held->bytes, (long)malloc_usable_size(block));
  }
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void *valloc(size_t size) { return memalign((size_t)getpagesize(), size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  void *taken_block = memalign(alignment, size);
  if (taken_block == NULL)
    return ENOMEM;
  *block = taken_block;
  return 0;
}

void free(void *block) {
  given(block);
  __libc_free(block);
}

void *realloc(void *block, size_t size) {
  given(block);
  void *resized = __libc_realloc(block, size);
  taken(resized == NULL && size != 0 ? block : resized);
  return resized;
}

// Of the process that was started; what it forks is none of the test's.
static void stop_counting(void) { held = &early; }

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("HELD_FILE");
  int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof(struct held)) != 0)
    return;
  struct held *shared =
      mmap(NULL, sizeof(struct held), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED)
    return;
  *shared = early;
  held = shared;
  pthread_atfork(NULL, NULL, stop_counting);
}
