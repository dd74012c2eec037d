// builds: fast linked
/* Blocks that grow by realloc use pages that the process has, and do not lose them. */
#include "faults.h"

enum { VECTORS = 64, GROWTHS = 30000 };
/* A sixteenth of a region, or in 32 bit an eighth: those are smaller. */
#define LIMIT_BYTES (sizeof(void *) == 8 ? 4 * MIB : MIB)

int main(void) {
  char *blocks[VECTORS] = {NULL};
  size_t sizes[VECTORS] = {0};
  uint64_t random = 1;
  size_t written_bytes = 0;
  double start = seconds_now(), processor_start = processor_seconds();
  for (int i = 0; i < GROWTHS; i++) {
    size_t k = random_next(&random) % VECTORS, size = sizes[k] + sizes[k] / 2 + 16;
    if (size > LIMIT_BYTES) {
      free(blocks[k]);
      blocks[k] = NULL;
      size = 16;
    }
    blocks[k] = opaque(realloc(blocks[k], size));
    touch(blocks[k], size);
    written_bytes += size;
    sizes[k] = size;
  }
  for (int k = 0; k < VECTORS; k++) free(blocks[k]);
  long more = faults_of_waiting(seconds_now() - start, processor_seconds() - processor_start);
  CHECK_THAT(fault_count(), <, 20000 + (long)(written_bytes / 4096 / 50) + more);
  return 0;
}
