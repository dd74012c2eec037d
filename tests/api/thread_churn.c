// windows: yes
// cost: 12
/* Two thousand threads come and go; what each leaves behind is used by the next. */
#include "names.h"
#include "threads.h"

static void *allocate_and_free(void *unused) {
  void *blocks[100];
  for (size_t i = 0; i < 100; i++) touch(blocks[i] = opaque(malloc(i * i * 5 + 1)), i * i * 5 + 1);
  for (int i = 0; i < 100; i++) free(blocks[i]);
  return unused;
}

int main(void) {
  for (int i = 0; i < 50; i++) run_in_thread(allocate_and_free, NULL);
  size_t after_some = resident_bytes();
  for (int i = 0; i < 250; i++) {
    pthread_t threads[8];
    for (int j = 0; j < 8; j++) threads[j] = start_thread(allocate_and_free, NULL);
    for (int j = 0; j < 8; j++) join_thread(threads[j]);
  }
  /* Eight may run at once, where there was one: 8 times its 1.6 MiB, and some slack. Freed blocks
   * that the checking build holds back keep pages of their threads' heaps. */
  size_t most = strcmp(test_build(), "checking") == 0 ? 48 * MIB : 24 * MIB;
  CHECK_THAT(resident_bytes(), <, after_some + most);
  return 0;
}
