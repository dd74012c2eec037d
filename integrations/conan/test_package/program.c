/* Fails unless malloc is loam's. */
#include <loam/loam.h>
#include <stdlib.h>

int main(void) {
  void *block = malloc(100);
  /* A block that is not loam's would end the program here. */
  int status = block != NULL && loam_malloc_usable_size(block) >= 100 ? 0 : 1;
  free(block);
  return status;
}
