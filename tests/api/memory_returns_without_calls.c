// builds: fast linked
// windows: yes
/* A thread that has freed a few megabytes of many sizes, in whatever order, keeps no more than two,
 * though it makes no call any more. */
#include "children.h"
#include "names.h"

enum { COUNT = 200000 };
static void *blocks[COUNT];

static size_t take(size_t bytes, size_t largest, uint64_t *random) {
  size_t count = 0;
  for (size_t taken = 0; taken < bytes; count++) {
    CHECK_THAT(count, <, COUNT);
    size_t size = 16 + random_next(random) % (largest - 15);
    touch(blocks[count] = opaque(malloc(size)), size);
    taken += size;
  }
  return count;
}

static void shuffle(size_t count, uint64_t *random) {
  for (size_t i = count - 1; i > 0; i--) {
    size_t other = random_next(random) % (i + 1);
    void *block = blocks[i];
    blocks[i] = blocks[other];
    blocks[other] = block;
  }
}

static const size_t sizes[][2] = {
    {2 * MIB, 400}, {5 * MIB, 400}, {5 * MIB, 1000}, {10 * MIB, 1000}, {20 * MIB, 1000}};
enum { ORDERS = 3 };

static void check(size_t index) {
  size_t bytes = sizes[index / ORDERS][0], largest = sizes[index / ORDERS][1];
  size_t order = index % ORDERS;
  uint64_t random = bytes + largest;
  size_t before = resident_bytes(), count = take(bytes, largest, &random);
  if (order == 2) shuffle(count, &random);
  for (size_t i = 0; i < count; i++) free(blocks[order == 1 ? count - 1 - i : i]);
  CHECK_THAT(resident_bytes(), <, before + 2 * MIB);
}

int main(void) {
  memset(blocks, 1, sizeof blocks); /* counts as live */
  run_one_by_one(check, ORDERS * sizeof sizes / sizeof *sizes);
  return 0;
}
