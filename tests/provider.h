/* A page provider that trusts nobody: it knows every reservation and the state of each page of it,
 * leaves what is not committed without access, clears what is committed twice, and fails on
 * demand. */
#ifndef LOAM_TESTS_PROVIDER_H
#define LOAM_TESTS_PROVIDER_H

#include "names.h"
#include "reserved_memory.h"
#include <pthread.h>

enum { RESERVATIONS_MAX = 256 };

struct reservation {
  char *start; /* NULL: none */
  size_t size;
  unsigned char *committed; /* for each page */
};

struct strict {
  struct loam_page_provider provider;
  pthread_mutex_t lock; /* for all that follows */
  struct reservation reservations[RESERVATIONS_MAX];
  size_t reservation_count, committed_bytes, purged_bytes;
  long call_count;
  /* Counts down at each call that can fail; the one that finds it at 0 fails, and with `all` those
   * that follow. Negative: off. */
  long countdown;
  int all;
  int allocate; /* callbacks call malloc and free */
  void *kept[16];
};

/* For a byte for each page of a reservation, in whole pages. */
static inline size_t state_bytes(size_t size) {
  return (size / page_bytes() + page_bytes() - 1) & ~(page_bytes() - 1);
}

/* Begins a callback; false: it is to fail. */
static inline int strict_enter(struct strict *strict, int can_fail) {
  errno = 4711; /* which nobody may see */
  CHECK_EQ(pthread_mutex_lock(&strict->lock), 0);
  long call = strict->call_count++;
  if (strict->allocate) {
    void **kept = &strict->kept[call % 16];
    free(*kept);
    *kept = opaque(malloc((size_t)(call * call * 37 % 30000)));
    free(opaque(malloc((size_t)(call % 7) * 100000)));
  }
  if (!can_fail) return 1;
  if (strict->countdown < 0) return 1;
  if (strict->countdown > 0) return strict->countdown--, 1;
  if (!strict->all) strict->countdown = -1;
  return 0;
}

static inline void strict_leave(struct strict *strict) {
  CHECK_EQ(pthread_mutex_unlock(&strict->lock), 0);
}

static inline struct reservation *strict_find(struct strict *strict, const void *address) {
  for (int i = 0; i < RESERVATIONS_MAX; i++) {
    struct reservation *r = &strict->reservations[i];
    if (r->start != NULL && (size_t)((const char *)address - r->start) < r->size) return r;
  }
  return NULL;
}

static inline void *strict_reserve(void *context, size_t size, size_t alignment) {
  struct strict *strict = context;
  char *start = NULL;
  CHECK(size > 0 && size % page_bytes() == 0);
  CHECK(alignment >= page_bytes() && (alignment & (alignment - 1)) == 0);
  if (strict_enter(strict, 1)) {
    start = memory_reserve(size, alignment);
    struct reservation *r = strict->reservations;
    while (r->start != NULL) CHECK(++r < &strict->reservations[RESERVATIONS_MAX]);
    r->start = start;
    r->size = size;
    r->committed = memory_reserve(state_bytes(size), page_bytes());
    memory_commit(r->committed, state_bytes(size));
    strict->reservation_count++;
  }
  strict_leave(strict);
  return start;
}

/* The part must lie within one reservation. */
static inline struct reservation *strict_part(struct strict *strict, void *address, size_t size) {
  struct reservation *r = strict_find(strict, address);
  CHECK(r != NULL);
  CHECK(size > 0 && size % page_bytes() == 0 && (uintptr_t)address % page_bytes() == 0);
  CHECK(size <= r->size - (size_t)((char *)address - r->start));
  return r;
}

static inline int strict_commit(void *context, void *address, size_t size) {
  struct strict *strict = context;
  int good = strict_enter(strict, 1);
  struct reservation *r = strict_part(strict, address, size);
  if (good) {
    memory_commit(address, size);
    for (size_t i = 0; i < size; i += page_bytes()) {
      unsigned char *state = &r->committed[((char *)address - r->start + i) / page_bytes()];
      if (*state) memset((char *)address + i, 0, page_bytes());
      else strict->committed_bytes += page_bytes();
      *state = 1;
    }
  }
  strict_leave(strict);
  return good ? 0 : ENOMEM;
}

/* The pages are no longer committed. */
static inline void strict_forget(struct strict *strict, struct reservation *r, size_t offset,
                                 size_t size) {
  for (size_t i = offset; i < offset + size; i += page_bytes()) {
    strict->committed_bytes -= r->committed[i / page_bytes()] ? page_bytes() : 0;
    r->committed[i / page_bytes()] = 0;
  }
}

static inline int strict_purge(void *context, void *address, size_t size) {
  struct strict *strict = context;
  int good = strict_enter(strict, 1);
  struct reservation *r = strict_part(strict, address, size);
  if (good) {
    size_t before = strict->committed_bytes;
    strict_forget(strict, r, (size_t)((char *)address - r->start), size);
    strict->purged_bytes += before - strict->committed_bytes;
    memory_decommit(address, size);
  }
  strict_leave(strict);
  return good ? 0 : EAGAIN;
}

static inline void strict_release(void *context, void *address, size_t size) {
  struct strict *strict = context;
  strict_enter(strict, 0);
  struct reservation *r = strict_find(strict, address);
  CHECK(r != NULL && r->start == address && r->size == size);
  strict_forget(strict, r, 0, size);
  memory_release(r->committed, state_bytes(size));
  memory_release(r->start, size);
  r->start = NULL;
  strict->reservation_count--;
  strict_leave(strict);
}

static inline void strict_start(struct strict *strict) {
  memset(strict, 0, sizeof *strict);
  pthread_mutex_init(&strict->lock, NULL);
  CHECK_EQ(pthread_mutex_lock(&strict->lock), 0); /* which calls malloc the first time on Windows */
  strict_leave(strict);
  strict->countdown = -1;
  strict->provider = (struct loam_page_provider){strict_reserve, strict_commit, strict_purge,
                                                 strict_release, strict};
}

/* Whether the address is in memory of the provider's. */
static inline int strict_has(struct strict *strict, const void *address) {
  CHECK_EQ(pthread_mutex_lock(&strict->lock), 0);
  struct reservation *r = strict_find(strict, address);
  CHECK_EQ(pthread_mutex_unlock(&strict->lock), 0);
  return r != NULL;
}

static inline void strict_check_all_released(struct strict *strict) {
  CHECK_EQ(strict->reservation_count, 0);
  CHECK_EQ(strict->committed_bytes, 0);
}

static inline struct loam_heap *strict_heap(struct strict *strict) {
  struct loam_heap *heap = loam_heap_new_with_provider(&strict->provider);
  CHECK(heap != NULL);
  return heap;
}

#endif
