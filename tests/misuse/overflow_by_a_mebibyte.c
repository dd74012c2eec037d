// build: checking
// windows: no
// status: -11
/* a byte is written to, 1 MiB behind a small block, where no block has been */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(8));
  block[7 + (1 << 20)] ^= 0x55;
  return 0;
}
