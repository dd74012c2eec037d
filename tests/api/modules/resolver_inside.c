/* A module with a function that a resolver chooses (STT_GNU_IFUNC), which allocates. */
#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))
/* Calls by name may not be bound yet when the resolver runs; variables are. */
static struct {
  void *(*malloc)(size_t);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  void (*free)(void *);
} volatile bound = {malloc, calloc, realloc, free};
static unsigned char *kept;

static void *block_of_resolver(void) { return kept; }

static void *resolve(void) {
  void *cleared = bound.calloc(10, 30), *block = bound.malloc(100);
  kept = bound.malloc(50);
  for (size_t i = 0; kept != NULL && i < 50; i++) kept[i] = 7;
  bound.free(bound.realloc(block, 5000));
  bound.free(cleared);
  return (void *)block_of_resolver;
}

void *resolved(void) __attribute__((ifunc("resolve")));
void *call_resolved(void);
void *call_resolved(void) { return resolved(); }
#endif
