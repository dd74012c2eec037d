// builds: fast checking
/* An ifunc resolver runs while the loader still relocates and sets up thread-local storage: what
 * malloc writes to thread-local variables then is lost, and must be survived. */
#include "names.h"

static unsigned char *resolver_block;
static int answer(void) { return 42; }

static int (*choose_answer(void))(void) {
  resolver_block = malloc(500);
  for (int i = 0; i < 500; i++) resolver_block[i] = (unsigned char)i;
  free(malloc(20000));
  return answer;
}

int resolved_answer(void) __attribute__((ifunc("choose_answer")));

int main(void) {
  CHECK_EQ(resolved_answer(), 42);
  void *blocks[100];
  for (int i = 0; i < 100; i++) memset(blocks[i] = opaque(malloc(500)), 0xff, 500);
  for (int i = 0; i < 500; i++) CHECK_EQ(resolver_block[i], (unsigned char)i);
  for (int i = 0; i < 100; i++) free(blocks[i]);
  free(resolver_block);
  return 0;
}
