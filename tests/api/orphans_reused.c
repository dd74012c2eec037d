// builds: fast linked
// windows: yes
/* Blocks outlive the threads that allocated them, are freed by others, and the memory is used
 * again by threads that come later. */
#include "names.h"
#include "threads.h"

enum { COUNT = 20000 };
static unsigned char *blocks[COUNT];

static size_t size_of(int i) { return (size_t)(i % 40) * 50 + 8; }

static void *allocate_all(void *unused) {
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = opaque(malloc(size_of(i)));
    fill(blocks[i], 0, size_of(i), (unsigned)i);
  }
  return unused;
}

static void *free_all(void *unused) {
  for (int i = 0; i < COUNT; i++) {
    check_filled(blocks[i], 0, size_of(i), (unsigned)i);
    free(blocks[i]);
  }
  return unused;
}

int main(void) {
  run_in_thread(allocate_all, NULL);
  size_t once = resident_bytes();
  run_in_thread(free_all, NULL);
  for (int round = 0; round < 20; round++) {
    run_in_thread(allocate_all, NULL);
    if (round % 2) run_in_thread(free_all, NULL);
    else free_all(NULL);
  }
  run_in_thread(allocate_all, NULL);
  CHECK_THAT(resident_bytes(), <, once + once / 4 + 4 * MIB);
  free_all(NULL);
  return 0;
}
