/* mallinfo and mallinfo2 agree and follow what is allocated. */
#include "names.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static size_t in_pages(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

int main(void) {
  enum { COUNT = 200 };
  void *blocks[COUNT];
  struct mallinfo2 before = mallinfo2();
  for (int i = 0; i < COUNT; i++) touch(blocks[i] = opaque(malloc(100 * KIB)), 100 * KIB);
  struct mallinfo2 after = mallinfo2();
  struct mallinfo narrow = mallinfo();
  size_t in_use = after.uordblks + after.hblkhd, in_use_before = before.uordblks + before.hblkhd;
  CHECK_THAT(in_use, >=, in_use_before + COUNT * 100 * KIB);
  CHECK_THAT(in_use, <=, in_use_before + COUNT * in_pages(101 * KIB) + 2 * MIB);
  CHECK_EQ((size_t)narrow.uordblks, after.uordblks);
  CHECK_EQ((size_t)narrow.hblkhd, after.hblkhd);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  struct mallinfo2 freed = mallinfo2();
  CHECK_THAT(freed.uordblks + freed.hblkhd, <=, in_use_before + 2 * MIB);

  void *huge = opaque(malloc((size_t)3 << 30));
  if (huge != NULL) { /* 32-bit sized fields stop at INT_MAX instead of wrapping */
    struct mallinfo capped = mallinfo();
    CHECK(capped.uordblks >= 0 && capped.hblkhd >= 0 && capped.arena >= 0);
    struct mallinfo2 wide = mallinfo2();
    CHECK_THAT(wide.uordblks + wide.hblkhd, >=, (size_t)3 << 30);
    free(huge);
  }
  return 0;
}
