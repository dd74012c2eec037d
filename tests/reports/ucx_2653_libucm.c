// builds: fast checking hardened linked
// environment: LOAM_OPTIONS=libc_calls=on
/* The same as ucx_2653.c with UCX's own library, libucm, which finds out what is unmapped: each page
 * that malloc had given out and that has gone has been in a range that it told of. Skipped where that
 * library is not there (Debian: libucx0). */
#include "check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of ucm/api/ucm.h. */
enum { UCM_EVENT_VM_UNMAPPED = 1 << 17 };
union ucm_event {
  struct {
    void *address;
    size_t size;
  } vm_unmapped;
  char room[64];
};

enum { RANGES = 1 << 16, BLOCKS = 64 };
static struct {
  uintptr_t start, end;
} told[RANGES];
static volatile size_t told_count;

static void tell(int type, union ucm_event *event, void *unused) {
  (void)type, (void)unused;
  CHECK_THAT(told_count, <, RANGES);
  told[told_count].start = (uintptr_t)event->vm_unmapped.address;
  told[told_count++].end = (uintptr_t)event->vm_unmapped.address + event->vm_unmapped.size;
}

static int is_gone(uintptr_t page) {
  unsigned char resident = 0;
  return syscall(SYS_mincore, page, 4096, &resident) != 0 || !(resident & 1);
}

static int was_told(uintptr_t page) {
  for (size_t i = 0; i < told_count; i++)
    if (page >= told[i].start && page < told[i].end) return 1;
  return 0;
}

static size_t take_and_free(size_t size) {
  char *blocks[BLOCKS];
  size_t gone_count = 0, count = size < 1 << 20 ? BLOCKS : 3;
  for (size_t i = 0; i < count; i++) blocks[i] = memset(malloc(size), 1, size);
  for (size_t i = 0; i < count; i++) free(blocks[i]);
  malloc_trim(0);
  for (size_t i = 0; i < count; i++)
    for (size_t at = 0; at < size; at += 4096) {
      uintptr_t page = ((uintptr_t)blocks[i] + at) & -(uintptr_t)4096;
      if (!is_gone(page)) continue;
      gone_count++;
      CHECK(was_told(page));
    }
  told_count = 0;
  return gone_count;
}

int main(void) {
  static const size_t sizes[] = {100000, 3 << 20, 40 << 20};
  size_t gone_count = 0;
  void *needed = dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL);
  void *library = needed != NULL ? dlopen("libucm.so.0", RTLD_NOW) : NULL;
  if (library == NULL) {
    printf("skipped: %s\n", dlerror());
    return 77;
  }
  int (*set_handler)(int, int, void (*)(int, union ucm_event *, void *), void *) =
      (int (*)(int, int, void (*)(int, union ucm_event *, void *), void *))dlsym(
          library, "ucm_set_event_handler");
  CHECK(set_handler != NULL);
  CHECK_EQ(set_handler(UCM_EVENT_VM_UNMAPPED, 1000, tell, NULL), 0);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) gone_count += take_and_free(sizes[i]);
  CHECK_THAT(gone_count, >, 1000);
  return 0;
}
