// builds: fast linked
// windows: yes
/* Threads have swapped blocks through places that all share, so that each has some of everybody's in
 * its cache. All is freed, and they sleep: one malloc_trim gives back what is in no thread's cache. */
#include "exchange.h"
#include "names.h"

static struct exchange exchange = {
    .threads = 16, .places = 4096, .turns = 10000, .least = 1000, .most = 30000};
/* 4 to 6 MiB; before the trim 29 to 41. */
#define TRIMMED_BYTES (12 * MIB)

int main(void) {
  size_t before = exchange_until_all_sleep(&exchange);
  usleep(100000); /* until all sleep */
  malloc_trim(0);
  CHECK_THAT(resident_bytes(), <, before + TRIMMED_BYTES);
  return 0;
}
