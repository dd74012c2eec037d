// builds: fast checking hardened linked
/* A program that moves its blocks (loam_should_move, loam_move), of which it has freed nine out of
 * ten: what it holds is what its memory has, in a few rounds; contents stay; others may allocate and
 * free meanwhile. */
#include "names.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "threads.h"

enum { COUNT = 400000, KEPT_OF = 10, ROUNDS_MOST = 20 };
static char *blocks[COUNT];
static atomic_bool ends;

static size_t size_of(int i) { return 16 + (size_t)i * 7919 % 1500; }

static void *allocate_meanwhile(void *unused) {
  uint64_t random = 1;
  static void *others[1000];
  while (!ends) {
    size_t at = random_next(&random) % 1000;
    free(others[at]);
    others[at] = opaque(malloc(16 + random_next(&random) % 1500));
  }
  for (int i = 0; i < 1000; i++) free(others[i]);
  return unused;
}

static int move_all(void) {
  int moved_count = 0;
  for (int i = 0; i < COUNT; i++) {
    char *before = blocks[i];
    if (before == NULL || !loam_should_move(before)) continue;
    char *moved = loam_move(before);
    if (moved == NULL) continue;
    CHECK(moved != before);
    CHECK_THAT(loam_malloc_usable_size(moved), >=, size_of(i));
    blocks[i] = moved;
    moved_count++;
  }
  return moved_count;
}

static void check_what_does_not_move(void) {
  char inside[16], *large = opaque(malloc(100000)), *huge = opaque(malloc(100 * MIB));
  CHECK_EQ(loam_should_move(NULL), 0);
  CHECK(loam_move(NULL) == NULL);
  CHECK_EQ(loam_should_move(inside), 0);
  CHECK_EQ(loam_should_move(large), 0);
  CHECK_EQ(loam_should_move(huge), 0);
  CHECK(loam_move(large) == NULL);
  free(large);
  free(huge);
}

int main(void) {
  if (loam_should_move == NULL) return 77;
  bool moves = strcmp(test_build(), "checking") != 0 && strcmp(test_build(), "hardened") != 0;
  uint64_t random = 7;
  size_t live = 0;
  check_what_does_not_move();
  memset(blocks, 1, sizeof blocks);
  loam_malloc_trim(0);
  size_t empty = resident_bytes();
  for (int i = 0; i < COUNT; i++) blocks[i] = opaque(malloc(size_of(i))), fill(blocks[i], 0, size_of(i), (unsigned)i);
  for (int i = 0; i < COUNT; i++)
    if (random_next(&random) % KEPT_OF == 0) live += size_of(i);
    else free(blocks[i]), blocks[i] = NULL;
  loam_malloc_trim(0);
  size_t before = resident_bytes() - empty;
  pthread_t other = start_thread(allocate_meanwhile, NULL);
  int rounds = 0, moved = 0, now;
  while ((now = move_all()) != 0 && ++rounds < ROUNDS_MOST) moved += now;
  ends = true;
  join_thread(other);
  loam_malloc_trim(0);
  size_t after = resident_bytes() - empty;
  for (int i = 0; i < COUNT; i++)
    if (blocks[i] != NULL) check_filled(blocks[i], 0, size_of(i), (unsigned)i);
  printf("%zu KiB live, in %zu; %d moved in %d rounds: in %zu\n", live / KIB, before / KIB, moved,
         rounds, after / KIB);
  CHECK_EQ(moved != 0, moves);
  if (moves) CHECK_THAT(after, <, live + live * 3 / 10 + 2 * MIB);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  return 0;
}
