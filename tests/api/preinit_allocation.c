/* .preinit_array runs before every constructor, of the program and of its libraries. */
#include "names.h"

static unsigned char *block, *aligned;
static int preinit_ran;

static void allocate_in_preinit(void) {
  preinit_ran = 1;
  block = opaque(malloc(3000));
  fill(block, 0, 3000, 1);
  aligned = opaque(aligned_alloc(8192, 100));
  for (int i = 0; i < 1000; i++) free(opaque(malloc((size_t)i * 40)));
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) =
    allocate_in_preinit;

int main(void) {
  CHECK_EQ(preinit_ran, 1);
  block = opaque(realloc(block, 100000));
  check_filled(block, 0, 3000, 1);
  CHECK_EQ((uintptr_t)aligned % 8192, 0);
  free(block), free(aligned);
  return 0;
}
