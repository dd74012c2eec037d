// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a small block is freed twice with other frees of its size in between */
#include "crime.h"

int main(void) {
  void *block = malloc(100), *others[20];
  for (int i = 0; i < 20; i++) others[i] = malloc(100);
  free(block);
  for (int i = 0; i < 20; i++) free(others[i]);
  free(announce(block));
  return 0;
}
