// builds: fast linked
/* The memory of threads that end is there for the threads that follow, and not given back and
 * fetched again each time, page by page. */
#include "faults.h"
#include "threads.h"

enum { ROUNDS = 100, AT_A_TIME = 4, BLOCKS = 200 };

static size_t largest;

/* Some 3 MB if the largest block is one of 30 KB. */
static void *visit(void *number) {
  uint64_t random = (uint64_t)(intptr_t)number + 1;
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    size_t size = 16 + random_next(&random) % largest;
    touch(blocks[i] = opaque(malloc(size)), size);
  }
  for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  return NULL;
}

static void check_faults(size_t largest_bytes) {
  largest = largest_bytes;
  long before = fault_count();
  double start = seconds_now(), processor_start = processor_seconds();
  for (int i = 0; i < ROUNDS; i++) {
    pthread_t threads[AT_A_TIME];
    for (int j = 0; j < AT_A_TIME; j++)
      threads[j] = start_thread(visit, (void *)(intptr_t)(i * AT_A_TIME + j));
    for (int j = 0; j < AT_A_TIME; j++) join_thread(threads[j]);
  }
  /* All pages anew each time would be one fault for each 4 KiB of blocks. */
  long pages = (long)(ROUNDS * AT_A_TIME * BLOCKS * (largest / 2) / 4096);
  long more = faults_of_waiting(seconds_now() - start, processor_seconds() - processor_start);
  CHECK_THAT(fault_count() - before, <, 5000 + pages / 10 + more);
}

int main(void) {
  check_faults(30000);
  check_faults(200000);
  return 0;
}
