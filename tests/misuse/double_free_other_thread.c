// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a small block is freed by its owner after another thread freed it */
#include "crime.h"
#include "../threads.h"

static void *free_it(void *block) {
  free(block);
  return NULL;
}

int main(void) {
  void *block = malloc(100);
  run_in_thread(free_it, block);
  free(announce(block));
  return 0;
}
