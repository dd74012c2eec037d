/* Jumps over the first bytes of functions, for both processors: as their assemblers write them, and
 * read back. */
#include "unit.h"

#include "redirect/jump.h"

static void check_near(enum lm_processor processor, uint64_t from, uint64_t to,
                       const char *expected) {
  uint8_t bytes[LM_FAR_JUMP_BYTES] = {0};
  CHECK(lm_near_jump_reaches(processor, from, to));
  lm_near_jump_write(processor, from, to, bytes);
  CHECK_EQ(memcmp(bytes, expected, lm_near_jump_bytes(processor)), 0);
  CHECK_EQ(lm_jump_read(processor, from, bytes), to);
}

static void near_jumps_are_one_instruction(void) {
  check_near(LM_X86_64, 0x1000, 0x1010, "\xe9\x0b\0\0\0");
  check_near(LM_X86_64, 0x1010, 0x1000, "\xe9\xeb\xff\xff\xff");
  check_near(LM_X86_64, 0x100000000, 0x180000004, "\xe9\xff\xff\xff\x7f");
  check_near(LM_AARCH64, 0x1000, 0x1010, "\x04\0\0\x14");
  check_near(LM_AARCH64, 0x1010, 0x1000, "\xfc\xff\xff\x17");
  check_near(LM_AARCH64, 0x10000000, 0x10000000 + 0x7fffffc, "\xff\xff\xff\x15");
  check_near(LM_AARCH64, 0x10000000, 0x8000000, "\0\0\0\x16");
}

static void near_jumps_say_how_far_they_reach(void) {
  CHECK(!lm_near_jump_reaches(LM_X86_64, 0x100000000, 0x180000005));
  CHECK(lm_near_jump_reaches(LM_X86_64, 0x100000000, 0x80000005));
  CHECK(!lm_near_jump_reaches(LM_X86_64, 0x100000000, 0x80000004));
  CHECK(!lm_near_jump_reaches(LM_AARCH64, 0x10000000, 0x18000000));
  CHECK(!lm_near_jump_reaches(LM_AARCH64, 0x10000000, 0x7fffffc));
  CHECK(!lm_near_jump_reaches(LM_AARCH64, 0x1000, 0x1002));
  CHECK(!lm_near_jump_reaches(LM_X86_64, 0x7fff00000000, 0x1000));
}

static void far_jumps_reach_everything(void) {
  const uint64_t to = 0x7fff123456789abc;
  uint8_t bytes[LM_FAR_JUMP_BYTES];
  lm_far_jump_write(LM_X86_64, to, bytes);
  CHECK_EQ(memcmp(bytes, "\xff\x25\0\0\0\0\xbc\x9a\x78\x56\x34\x12\xff\x7f\xcc\xcc", 16), 0);
  CHECK_EQ(lm_jump_read(LM_X86_64, 0x1000, bytes), to);
  lm_far_jump_write(LM_AARCH64, to, bytes);
  CHECK_EQ(memcmp(bytes, "\x50\0\0\x58\0\x02\x1f\xd6\xbc\x9a\x78\x56\x34\x12\xff\x7f", 16), 0);
  CHECK_EQ(lm_jump_read(LM_AARCH64, 0x1000, bytes), to);
}

static void other_code_is_no_jump(void) {
  static const uint8_t x86_64[LM_FAR_JUMP_BYTES] = {0x48, 0x83, 0xec, 0x28};   /* sub rsp, 40 */
  static const uint8_t aarch64[LM_FAR_JUMP_BYTES] = {0xfd, 0x7b, 0xbf, 0xa9}; /* stp x29, x30 */
  static const uint8_t call[LM_FAR_JUMP_BYTES] = {0x04, 0, 0, 0x94};          /* bl */
  CHECK_EQ(lm_jump_read(LM_X86_64, 0x1000, x86_64), 0);
  CHECK_EQ(lm_jump_read(LM_AARCH64, 0x1000, aarch64), 0);
  CHECK_EQ(lm_jump_read(LM_AARCH64, 0x1000, call), 0);
}

int main(void) {
  RUN(near_jumps_are_one_instruction);
  RUN(near_jumps_say_how_far_they_reach);
  RUN(far_jumps_reach_everything);
  RUN(other_code_is_no_jump);
  return UNIT_RESULT();
}
