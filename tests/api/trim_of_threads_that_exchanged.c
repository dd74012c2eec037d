// builds: fast linked
/* Threads have swapped blocks through places that all share, so that each has some of everybody's in
 * its caches. All is freed, and they sleep: one malloc_trim brings these home and gives them back. */
#include <malloc.h>

#include "children.h"
#include "exchange.h"

static struct exchange exchange = {
    .threads = 16, .places = 4096, .turns = 10000, .least = 1000, .most = 30000};
#define SLACK_BYTES (12 * MIB)

int main(void) {
  size_t before = resident_bytes();
  exchange_until_all_sleep(&exchange);
  usleep(100000); /* until all sleep */
  CHECK_THAT(resident_bytes(), >, before + 4 * SLACK_BYTES);
  malloc_trim(0);
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  return 0;
}
