// builds: fast linked
// windows: yes
/* A thread that has taken and freed megabytes again and again, so that its heap has learnt to keep
 * them, and then makes a call now and then that finds a free block, gives them back all the same. */
#include "children.h"
#include "names.h"

enum { COUNT = 400000, CYCLES = 10, CALLS = 60, CALL_MS = 50 };
static void *blocks[COUNT];

static void take_and_free(size_t bytes, size_t least, size_t largest, uint64_t *random) {
  size_t count = 0;
  for (size_t taken = 0; taken < bytes; count++) {
    CHECK_THAT(count, <, COUNT);
    size_t size = least + random_next(random) % (largest - least + 1);
    touch(blocks[count] = opaque(malloc(size)), size);
    taken += size;
  }
  for (size_t i = 0; i < count; i++) free(blocks[i]);
}

static void call_now_and_then(size_t calls, uint64_t *random) {
  for (int i = 0; i < CALLS; i++) {
    usleep(CALL_MS * 1000);
    for (size_t k = 0; k < calls; k++) free(opaque(malloc(16 + random_next(random) % 100)));
  }
}

struct use {
  size_t bytes, least, largest;
  size_t calls; /* at a time */
};

static const struct use uses[] = {{20 * MIB, 16, 1000, 1},    {40 * MIB, 16, 400, 1},
                                  {40 * MIB, 16, 4000, 3},    {30 * MIB, 16, 16000, 100},
                                  {40 * MIB, 20000, 200000, 1}};

static void check(size_t index) {
  const struct use *use = &uses[index];
  uint64_t random = use->largest;
  size_t before = resident_bytes();
  for (int i = 0; i < CYCLES; i++) take_and_free(use->bytes, use->least, use->largest, &random);
  call_now_and_then(use->calls, &random);
  CHECK_THAT(resident_bytes(), <, before + MIB);
}

int main(void) {
  memset(blocks, 1, sizeof blocks); /* counts as live */
  run_side_by_side(check, sizeof uses / sizeof *uses);
  return 0;
}
