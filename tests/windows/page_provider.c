/* A heap whose memory comes from a page provider made of VirtualAlloc: what is not committed has no
 * access, blocks of all sizes are in it, and destroy gives every reservation back. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

static int reservation_count, purge_count;

static void *reserve(void *context, size_t size, size_t alignment) {
  CHECK(context == &reservation_count);
  for (int attempt = 0; attempt < 16; attempt++) {
    char *room = VirtualAlloc(NULL, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (room == NULL) return NULL;
    char *place = room + (-(uintptr_t)room & (alignment - 1));
    VirtualFree(room, 0, MEM_RELEASE);
    void *result = VirtualAlloc(place, size, MEM_RESERVE, PAGE_READWRITE);
    if (result == NULL) continue;
    reservation_count++;
    return result;
  }
  return NULL;
}

static int commit(void *context, void *address, size_t size) {
  (void)context;
  return VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != NULL ? 0 : ENOMEM;
}

static int purge(void *context, void *address, size_t size) {
  (void)context;
  purge_count++;
  return VirtualFree(address, size, MEM_DECOMMIT) ? 0 : EINVAL;
}

static void release(void *context, void *address, size_t size) {
  (void)context, (void)size;
  CHECK(VirtualFree(address, 0, MEM_RELEASE));
  reservation_count--;
}

enum { COUNT = 200 };
static char *blocks[COUNT];

static size_t size_of(size_t i) {
  return i == 50 ? 40 * MIB : i % 10 == 3 ? 700000 : i % 10 == 4 ? 60000 : 1 + i * 50;
}

static void use(struct loam_heap *heap) {
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < COUNT; i++) {
      blocks[i] = loam_heap_calloc(heap, 1, size_of(i));
      CHECK(blocks[i] != NULL);
      for (size_t at = 0; at < size_of(i); at += 100) CHECK_EQ(blocks[i][at], 0);
      memset(blocks[i], 1, size_of(i));
    }
    for (size_t i = 0; i < COUNT; i++) loam_free(blocks[i]);
    loam_malloc_trim(0);
  }
}

int main(void) {
  struct loam_page_provider provider = {reserve, commit, purge, release, &reservation_count};
  struct loam_heap *heap = loam_heap_new_with_provider(&provider);
  CHECK(heap != NULL);
  use(heap);
  CHECK_THAT(reservation_count, >, 0);
  CHECK_THAT(purge_count, >, 0);
  loam_heap_destroy(heap);
  CHECK_EQ(reservation_count, 0);
  return 0;
}
