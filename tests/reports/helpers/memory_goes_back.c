/* Frees 64 MiB and goes on with little: prints "went back" when most of it is the system's again,
 * or how much is not after some seconds. Counts turns, since the clock may be anybody's. */
#include "check.h"

#include <sys/syscall.h>

enum { COUNT = 65536, BYTES = 1024, TURNS = 500 };
static void *blocks[COUNT];

/* By the system call: the C library's sleep may be shifted, too. */
static void sleep_really(void) {
  struct timespec time = {.tv_nsec = 10000000};
  syscall(SYS_nanosleep, &time, NULL);
}

int main(void) {
  size_t before = resident_bytes(), rest = 0;
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(BYTES)), 1, BYTES);
  CHECK_THAT(resident_bytes() - before, >=, (size_t)COUNT * BYTES);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  for (int turn = 0; turn < TURNS; turn++) {
    for (size_t i = 0; i < 100; i++) free(opaque(malloc(i * 10)));
    sleep_really();
    size_t now = resident_bytes();
    rest = now > before ? now - before : 0;
    if (rest < (size_t)COUNT * BYTES / 8) return puts("went back") < 0;
  }
  printf("%zu MiB have not gone back\n", rest / MIB);
  return 1;
}
