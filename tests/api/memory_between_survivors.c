// builds: fast linked
/* The pages between the survivors of a peak go back: at once by malloc_trim, of threads that have
 * ended, too; and by the clock while a program makes some calls. The survivors keep what is in
 * them. */
#include "children.h"
#include "names.h"
#include "threads.h"

#include <stdbool.h>

enum { COUNT = 100000, KEPT_OF = 20 };
static unsigned char *blocks[COUNT];

static size_t size_of(int i) { return i % 6 < 3 ? 512 : i % 6 < 5 ? 1024 : 2048; }
static bool is_kept(int i) {
  uint64_t random = (uint64_t)i + 1;
  return random_next(&random) % KEPT_OF == 0;
}

static void *leave_survivors(void *unused) {
  for (int i = 0; i < COUNT; i++)
    memset(blocks[i] = opaque(malloc(size_of(i))), i % 251 + 1, size_of(i));
  for (int i = 0; i < COUNT; i++)
    if (!is_kept(i)) free(blocks[i]);
  return unused;
}

static void check_survivors(void) {
  for (int i = 0; i < COUNT; i++) {
    if (!is_kept(i)) continue;
    for (size_t j = 0; j < size_of(i); j++) CHECK_EQ(blocks[i][j], i % 251 + 1);
  }
}

/* With one of 20 blocks kept, a page of 512 bytes' blocks is empty in 66 of 100 cases, one of 2,048
 * in 90. */
static void check_holes(size_t before, size_t peak) {
  size_t stays = resident_bytes() - before;
  CHECK_THAT(stays, <, (peak - before) * 2 / 5);
  check_survivors();
}

static void trim(bool in_a_thread) {
  size_t before = resident_bytes();
  if (in_a_thread) run_in_thread(leave_survivors, NULL);
  else leave_survivors(NULL);
  size_t peak = resident_bytes();
  CHECK_EQ(malloc_trim(0), 1);
  check_holes(before, peak);
  /* What was given back is there for the next blocks. */
  for (int i = 0; i < COUNT; i++)
    if (!is_kept(i)) memset(blocks[i] = opaque(malloc(size_of(i))), i % 251 + 1, size_of(i));
  CHECK_THAT(resident_bytes(), <, peak + peak / 8);
  check_survivors();
}

static void make_some_calls(void) {
  size_t before = resident_bytes();
  leave_survivors(NULL);
  size_t peak = resident_bytes();
  for (int i = 0; i < 10 && resident_bytes() - before >= (peak - before) * 2 / 5; i++) {
    usleep(1000000); /* two of these do */
    for (int k = 0; k < 2000; k++) free(opaque(malloc(64 + (size_t)k % 3000)));
  }
  check_holes(before, peak);
}

static void check(size_t index) {
  if (index == 2) make_some_calls();
  else trim(index == 1);
}

int main(void) {
  memset(blocks, 1, sizeof blocks);
  run_side_by_side(check, 3);
  return 0;
}
