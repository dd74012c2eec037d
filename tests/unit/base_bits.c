/* Bitmaps and powers of two, against definitions that look at one bit at a time. */
#include "unit.h"

enum { BITS = 200 };

static void alignment_rounds_to_powers_of_two(void) {
  CHECK_EQ(lm_align_up(0, 16), 0);
  CHECK_EQ(lm_align_up(1, 16), 16);
  CHECK_EQ(lm_align_up(16, 16), 16);
  CHECK_EQ(lm_align_down(31, 16), 16);
  CHECK(lm_is_power_of_two(1) && lm_is_power_of_two(4096));
  CHECK(!lm_is_power_of_two(0) && !lm_is_power_of_two(48));
}

static void log2_is_the_highest_set_bit(void) {
  for (unsigned i = 0; i < sizeof(size_t) * 8; i++) {
    size_t x = (size_t)1 << i;
    CHECK_EQ(lm_log2_floor(x), i);
    CHECK_EQ(lm_log2_floor(x | (x - 1)), i);
  }
}

static void set_and_clear_touch_their_range_only(void) {
  for (size_t from = 0; from < BITS; from += 7)
    for (size_t to = from; to <= BITS; to += 5) {
      uint64_t map[LM_BITMAP_WORDS(BITS)] = {0};
      lm_bitmap_set(map, from, to);
      for (size_t i = 0; i < BITS; i++) CHECK_EQ(lm_bitmap_test(map, i), i >= from && i < to);
      memset(map, 0xff, sizeof map);
      lm_bitmap_clear(map, from, to);
      for (size_t i = 0; i < BITS; i++) CHECK_EQ(lm_bitmap_test(map, i), i < from || i >= to);
    }
}

/* Numbers that are multiples of any power of two are spread as well as others. */
static void a_hash_depends_on_all_bits(void) {
  for (unsigned shift = 0; shift < 40; shift++) {
    unsigned counts[1 << 8] = {0}, most = 0;
    for (uint64_t i = 1; i <= 1 << 8; i++) counts[lm_hash(i << shift, 8)]++;
    for (size_t i = 0; i < 1 << 8; i++) most = (unsigned)lm_max(most, counts[i]);
    CHECK_THAT(most, <=, 8);
  }
}

static void random_map(uint64_t *map, uint64_t *random, size_t density) {
  memset(map, 0, LM_BITMAP_WORDS(BITS) * sizeof *map);
  for (size_t i = 0; i < BITS; i++)
    if (random_next(random) % 8 < density) lm_bitmap_set(map, i, i + 1);
}

static void count_and_find_agree_with_looking_at_each_bit(void) {
  uint64_t map[LM_BITMAP_WORDS(BITS)], random = 7;
  for (int round = 0; round < 3000; round++) {
    random_map(map, &random, (size_t)round % 9);
    size_t from = random_next(&random) % BITS;
    size_t to = from + random_next(&random) % (BITS - from + 1);
    size_t count = 0, set = to, clear = to, last_set = from, last_clear = from;
    for (size_t i = to; i-- > from;)
      if (lm_bitmap_test(map, i)) set = i, count++;
      else clear = i;
    for (size_t i = from; i < to; i++)
      if (lm_bitmap_test(map, i)) last_set = i + 1;
      else last_clear = i + 1;
    CHECK_EQ(lm_bitmap_count(map, from, to), count);
    CHECK_EQ(lm_bitmap_find_set(map, from, to), set);
    CHECK_EQ(lm_bitmap_find_clear(map, from, to), clear);
    CHECK_EQ(lm_bitmap_find_last(map, from, to, 0), last_set);
    CHECK_EQ(lm_bitmap_find_last(map, from, to, ~(uint64_t)0), last_clear);
  }
}

static void a_word_has_the_bits_from_anywhere(void) {
  uint64_t map[LM_BITMAP_WORDS(BITS)], random = 5;
  for (int round = 0; round < 3000; round++) {
    random_map(map, &random, (size_t)round % 9);
    size_t count = 1 + random_next(&random) % 64, from = random_next(&random) % (BITS - count + 1);
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) word |= (uint64_t)lm_bitmap_test(map, from + i) << i;
    CHECK_EQ(lm_bitmap_word(map, from, count), word);
  }
}

static bool is_clear_run(const uint64_t *map, size_t start, size_t length) {
  for (size_t i = start; i < start + length; i++)
    if (lm_bitmap_test(map, i)) return false;
  return true;
}

static void runs_are_the_lowest_and_the_highest_that_fit(void) {
  uint64_t map[LM_BITMAP_WORDS(BITS)], random = 11;
  for (int round = 0; round < 3000; round++) {
    random_map(map, &random, (size_t)round % 9);
    size_t from = random_next(&random) % 32, to = BITS - random_next(&random) % 32;
    size_t length = 1 + random_next(&random) % 24;
    size_t alignment = (size_t)1 << random_next(&random) % 5;
    size_t lowest = LM_BITMAP_NONE, highest = LM_BITMAP_NONE;
    for (size_t i = from; i + length <= to; i++) {
      if (!is_clear_run(map, i, length)) continue;
      if (lowest == LM_BITMAP_NONE) lowest = i;
      if (i % alignment == 0) highest = i;
    }
    CHECK_EQ(lm_bitmap_lowest_run(map, from, to, length), lowest);
    CHECK_EQ(lm_bitmap_highest_run(map, from, to, length, alignment), highest);
  }
}

int main(void) {
  RUN(a_hash_depends_on_all_bits);
  RUN(alignment_rounds_to_powers_of_two);
  RUN(log2_is_the_highest_set_bit);
  RUN(set_and_clear_touch_their_range_only);
  RUN(count_and_find_agree_with_looking_at_each_bit);
  RUN(a_word_has_the_bits_from_anywhere);
  RUN(runs_are_the_lowest_and_the_highest_that_fit);
  return UNIT_RESULT();
}
