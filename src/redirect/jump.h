/* Jumps that are written over the first bytes of a function, for each processor: computed here,
 * written elsewhere, so that tests can have all of them on any processor.
 *
 * A near jump is what the function gets. A far one stands in memory near to it, where a near one
 * does not reach. Neither changes a register that arguments or results are in. */
#ifndef LM_REDIRECT_JUMP_H
#define LM_REDIRECT_JUMP_H

#include <string.h>

#include "base/compiler.h"

enum lm_processor { LM_X86_64, LM_AARCH64 };
#if defined(__aarch64__)
#define LM_THIS_PROCESSOR LM_AARCH64
#else
#define LM_THIS_PROCESSOR LM_X86_64
#endif

#define LM_NEAR_JUMP_MAX_BYTES 5
#define LM_FAR_JUMP_BYTES 16

/* jmp rel32; b rel26. The second is one instruction over another: no thread can be inside. */
LM_INLINE size_t lm_near_jump_bytes(enum lm_processor processor) {
  return processor == LM_X86_64 ? 5 : 4;
}

LM_INLINE bool lm_near_jump_reaches(enum lm_processor processor, uint64_t from, uint64_t to) {
  int64_t from_end = (int64_t)(to - from) - 5, from_start = (int64_t)(to - from);
  if (processor == LM_X86_64) return from_end == (int32_t)from_end;
  return from_start % 4 == 0 && from_start >= -((int64_t)1 << 27) &&
         from_start < (int64_t)1 << 27;
}

/* The lower byte first, whatever processor this code runs on. */
LM_INLINE void lm_put_bytes(uint8_t *bytes, uint64_t number, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(number >> 8 * i);
}

LM_INLINE uint64_t lm_get_bytes(const uint8_t *bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; i++) number |= (uint64_t)bytes[i] << 8 * i;
  return number;
}

/* To what it reaches. */
LM_INLINE void lm_near_jump_write(enum lm_processor processor, uint64_t from, uint64_t to,
                                  uint8_t *bytes) {
  if (processor == LM_X86_64) {
    bytes[0] = 0xe9;
    lm_put_bytes(bytes + 1, to - from - 5, 4);
  } else {
    lm_put_bytes(bytes, 0x14000000 | ((to - from) >> 2 & 0x03ffffff), 4);
  }
}

/* jmp [rip], and ldr x16, .+8 with br x16: then the address. */
#define LM_FAR_ADDRESS_AT(processor) ((processor) == LM_X86_64 ? 6 : 8)
LM_INLINE const uint8_t *lm_far_jump_start(enum lm_processor processor) {
  static const uint8_t x86_64[] = {0xff, 0x25, 0, 0, 0, 0};
  static const uint8_t aarch64[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};
  return processor == LM_X86_64 ? x86_64 : aarch64;
}

LM_INLINE void lm_far_jump_write(enum lm_processor processor, uint64_t to, uint8_t *bytes) {
  memset(bytes, 0xcc, LM_FAR_JUMP_BYTES);
  memcpy(bytes, lm_far_jump_start(processor), LM_FAR_ADDRESS_AT(processor));
  lm_put_bytes(bytes + LM_FAR_ADDRESS_AT(processor), to, 8);
}

/* Where a jump of either kind at `from` leads, of which `bytes` are LM_FAR_JUMP_BYTES; 0 if it is
 * none. */
LM_INLINE uint64_t lm_jump_read(enum lm_processor processor, uint64_t from, const uint8_t *bytes) {
  uint32_t word = (uint32_t)lm_get_bytes(bytes, 4);
  if (memcmp(bytes, lm_far_jump_start(processor), LM_FAR_ADDRESS_AT(processor)) == 0)
    return lm_get_bytes(bytes + LM_FAR_ADDRESS_AT(processor), 8);
  if (processor == LM_AARCH64)
    return word >> 26 == 5 ? from + (uint64_t)((int32_t)(word << 6) >> 6) * 4 : 0;
  if (bytes[0] != 0xe9) return 0;
  return from + 5 + (uint64_t)(int32_t)lm_get_bytes(bytes + 1, 4);
}

#endif
