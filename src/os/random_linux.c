/* Random words: SipHash-2-4 of how many there have been, under a key that is fetched at start, so
 * that no word says anything of another. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/random_linux.h"

#include <string.h>
#include <sys/auxv.h>

#include "os/os.h"
#include "os/syscall_linux.h"

static uint64_t random_key[2]; /* constant after lm_os_start */

void lm_random_start(void) {
  long flags = 1; /* do not wait */
  long size = sizeof random_key;
  if (lm_syscall6(SYS_getrandom, (long)random_key, size, flags, 0, 0, 0) == size) return;
  const void *given = (const void *)getauxval(AT_RANDOM); /* 16 bytes, also the C library's */
  if (given != NULL) memcpy(random_key, given, sizeof random_key);
  random_key[0] ^= (uintptr_t)&flags ^ lm_os_clock_ms() << 20;
}

LM_INLINE uint64_t rotate(uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds) {
  for (int i = 0; i < rounds; i++) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
  }
}

uintptr_t lm_os_random(void) {
  static _Atomic(uint32_t) count; /* written and read by any thread, pairs with nothing */
  uint64_t v[4] = {random_key[0] ^ UINT64_C(0x736f6d6570736575),
                   random_key[1] ^ UINT64_C(0x646f72616e646f6d),
                   random_key[0] ^ UINT64_C(0x6c7967656e657261),
                   random_key[1] ^ UINT64_C(0x7465646279746573)};
  /* With the time, which mostly differs where a process and the child of its fork count alike. */
  uint64_t words[] = {lm_add_relaxed(&count, 1), lm_os_clock_ms(), (uint64_t)16 << 56};
  for (int i = 0; i < 3; i++) {
    v[3] ^= words[i];
    mix(v, 2);
    v[0] ^= words[i];
  }
  v[2] ^= 0xff;
  mix(v, 4);
  return (uintptr_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}
