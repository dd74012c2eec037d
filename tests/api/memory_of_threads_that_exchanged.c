// builds: fast linked
// windows: yes
/* Threads have put blocks into places that all share, and freed what the others had put there: each
 * has some of everybody's in its cache. All is freed, and they sleep: what is free comes back as long
 * as anybody makes calls. */
#include "exchange.h"

static struct exchange exchange = {
    .threads = 64, .places = 4096, .turns = 20000, .least = 16, .most = 8000};
#define SLACK_BYTES (48 * MIB)
/* Some 50 MiB where nothing else runs. 16 MiB are in the places. */
#define PEAK_BYTES (100 * MIB)

int main(void) {
  size_t before = exchange_until_all_sleep(&exchange);
  CHECK_THAT(resident_bytes(), <, before + PEAK_BYTES);
  /* Three seconds do on a machine that is idle. */
  for (int i = 0; i < 400 && resident_bytes() >= before + SLACK_BYTES; i++) {
    usleep(50000);
    for (int k = 0; k < 50; k++) free(opaque(malloc(200)));
  }
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  return 0;
}
