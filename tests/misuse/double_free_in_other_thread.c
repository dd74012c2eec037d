// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a small block is freed by another thread after its owner freed it */
#include "crime.h"
#include "../threads.h"

static void *free_it(void *block) {
  free(block);
  return NULL;
}

int main(void) {
  void *block = malloc(100);
  free(block);
  run_in_thread(free_it, announce(block));
  return 0;
}
