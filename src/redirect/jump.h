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

/* To what it reaches. */
LM_INLINE void lm_near_jump_write(enum lm_processor processor, uint64_t from, uint64_t to,
                                  uint8_t *bytes) {
  if (processor == LM_X86_64) {
    uint32_t distance = (uint32_t)(to - from - 5);
    bytes[0] = 0xe9;
    memcpy(bytes + 1, &distance, sizeof distance);
  } else {
    uint32_t instruction = 0x14000000 | ((uint32_t)((to - from) >> 2) & 0x03ffffff);
    memcpy(bytes, &instruction, sizeof instruction);
  }
}

/* jmp [rip]; ldr x16, .+8 and br x16: then the address. */
LM_INLINE void lm_far_jump_write(enum lm_processor processor, uint64_t to, uint8_t *bytes) {
  static const uint8_t x86_64[8] = {0xff, 0x25, 0, 0, 0, 0};
  static const uint8_t aarch64[8] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};
  size_t address_at = processor == LM_X86_64 ? 6 : 8;
  memset(bytes, 0xcc, LM_FAR_JUMP_BYTES);
  memcpy(bytes, processor == LM_X86_64 ? x86_64 : aarch64, address_at);
  memcpy(bytes + address_at, &to, sizeof to);
}

/* Where a jump of either kind at `from` leads, of which `bytes` are LM_FAR_JUMP_BYTES; 0 if it is
 * none. */
LM_INLINE uint64_t lm_jump_read(enum lm_processor processor, uint64_t from, const uint8_t *bytes) {
  uint8_t whole[LM_FAR_JUMP_BYTES];
  uint64_t to;
  memcpy(&to, bytes + (processor == LM_X86_64 ? 6 : 8), sizeof to);
  lm_far_jump_write(processor, to, whole);
  if (memcmp(whole, bytes, processor == LM_X86_64 ? 6 : 8) == 0) return to;
  if (processor == LM_X86_64) {
    int32_t distance;
    memcpy(&distance, bytes + 1, sizeof distance);
    return bytes[0] == 0xe9 ? from + 5 + (uint64_t)(int64_t)distance : 0;
  }
  uint32_t instruction;
  memcpy(&instruction, bytes, sizeof instruction);
  if (instruction >> 26 != 5) return 0;
  return from + (uint64_t)((int64_t)(int32_t)(instruction << 6) >> 6) * 4;
}

#endif
