/* Powers of two, and bitmaps as arrays of 64-bit words, bit 0 lowest. */
#ifndef LM_BASE_BITS_H
#define LM_BASE_BITS_H

#include "base/compiler.h"

LM_INLINE bool lm_is_power_of_two(size_t x) { return x != 0 && (x & (x - 1)) == 0; }
LM_INLINE size_t lm_align_up(size_t x, size_t power) { return (x + power - 1) & ~(power - 1); }
LM_INLINE size_t lm_align_down(size_t x, size_t power) { return x & ~(power - 1); }
LM_INLINE size_t lm_min(size_t a, size_t b) { return a < b ? a : b; }
LM_INLINE size_t lm_max(size_t a, size_t b) { return a > b ? a : b; }

/* The index of the highest set bit; x is not 0. */
LM_INLINE unsigned lm_log2_floor(size_t x) {
#if LM_BITS_64
  return 63u ^ (unsigned)__builtin_clzll(x); /* on x86 both are one instruction */
#else
  return 31u ^ (unsigned)__builtin_clz(x);
#endif
}

/* The number of set bits; in line where the processor has no instruction for it, since compilers
 * call a library then. */
LM_INLINE unsigned lm_bit_count(uint64_t x) {
#if defined(__POPCNT__) || defined(__aarch64__)
  return (unsigned)__builtin_popcountll(x);
#else
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)((x * 0x0101010101010101u) >> 56);
#endif
}

#define LM_BITMAP_WORDS(bits) (((bits) + 63) / 64)

/* The bits of word `w` that lie in [from, to). */
LM_INLINE uint64_t lm_bitmap_mask(size_t w, size_t from, size_t to) {
  size_t low = from > w * 64 ? from - w * 64 : 0;
  size_t high = to < (w + 1) * 64 ? to - w * 64 : 64;
  uint64_t mask = high == 64 ? ~(uint64_t)0 : ((uint64_t)1 << high) - 1;
  return mask & (~(uint64_t)0 << low);
}

LM_INLINE bool lm_bitmap_test(const uint64_t *map, size_t bit) {
  return (map[bit / 64] >> (bit % 64)) & 1;
}

/* The bits of the word that has `bit`, from that on; and up to it, with it. */
LM_INLINE uint64_t lm_bits_from(size_t bit) { return ~(uint64_t)0 << bit % 64; }
LM_INLINE uint64_t lm_bits_to(size_t bit) { return ~(uint64_t)0 >> (63 - bit % 64); }

LM_INLINE void lm_bitmap_set(uint64_t *map, size_t from, size_t to) {
  if (from >= to) return;
  size_t w = from / 64, last = (to - 1) / 64;
  uint64_t mask = lm_bits_from(from);
  for (; w < last; w++, mask = ~(uint64_t)0) map[w] |= mask;
  map[w] |= mask & lm_bits_to(to - 1);
}

LM_INLINE void lm_bitmap_clear(uint64_t *map, size_t from, size_t to) {
  if (from >= to) return;
  size_t w = from / 64, last = (to - 1) / 64;
  uint64_t mask = lm_bits_from(from);
  for (; w < last; w++, mask = ~(uint64_t)0) map[w] &= ~mask;
  map[w] &= ~(mask & lm_bits_to(to - 1));
}

/* The `count` bits from `from` on, at most 64, as the lowest ones of a word. */
LM_INLINE uint64_t lm_bitmap_word(const uint64_t *map, size_t from, size_t count) {
  uint64_t word = map[from / 64] >> from % 64;
  if (from % 64 + count > 64) word |= map[from / 64 + 1] << (64 - from % 64);
  return word & lm_bitmap_mask(0, 0, count);
}

/* Sets those of the `count` bits from `from` on, at most 64, that are set in the lowest ones of
 * `word`, which has no others. */
LM_INLINE void lm_bitmap_add_word(uint64_t *map, size_t from, size_t count, uint64_t word) {
  map[from / 64] |= word << from % 64;
  if (from % 64 + count > 64) map[from / 64 + 1] |= word >> (64 - from % 64);
}

/* How many bits are set: in maps of pages mostly none or all of them. */
LM_INLINE size_t lm_bitmap_count_word(uint64_t word) {
  if (word == 0) return 0;
  return word == ~(uint64_t)0 ? 64 : lm_bit_count(word);
}

/* The number of set bits in [from, to). */
LM_INLINE size_t lm_bitmap_count(const uint64_t *map, size_t from, size_t to) {
  if (from >= to) return 0;
  size_t count = 0, w = from / 64, last = (to - 1) / 64;
  uint64_t mask = lm_bits_from(from);
  for (; w < last; w++, mask = ~(uint64_t)0) count += lm_bitmap_count_word(map[w] & mask);
  return count + lm_bitmap_count_word(map[w] & mask & lm_bits_to(to - 1));
}

/* The first set bit (or, with `invert` all ones, the first clear bit) in [from, to), or `to`. */
LM_INLINE size_t lm_bitmap_find(const uint64_t *map, size_t from, size_t to, uint64_t invert) {
  if (from >= to) return to;
  size_t w = from / 64, last = (to - 1) / 64;
  uint64_t word = (map[w] ^ invert) & lm_bits_from(from);
  while (word == 0 && w < last) word = map[++w] ^ invert;
  return word == 0 ? to : lm_min(w * 64 + (size_t)__builtin_ctzll(word), to);
}
LM_INLINE size_t lm_bitmap_find_set(const uint64_t *map, size_t from, size_t to) {
  return lm_bitmap_find(map, from, to, 0);
}
LM_INLINE size_t lm_bitmap_find_clear(const uint64_t *map, size_t from, size_t to) {
  return lm_bitmap_find(map, from, to, ~(uint64_t)0);
}

/* One past the last set bit (or clear bit, see above) in [from, to), or `from`. */
LM_INLINE size_t lm_bitmap_find_last(const uint64_t *map, size_t from, size_t to,
                                     uint64_t invert) {
  if (from >= to) return from;
  size_t w = (to - 1) / 64, first = from / 64;
  uint64_t word = (map[w] ^ invert) & lm_bits_to(to - 1);
  while (word == 0 && w > first) word = map[--w] ^ invert;
  return word == 0 ? from : lm_max(w * 64 + 64 - (size_t)__builtin_clzll(word), from);
}

/* Sets in `map` what is set in `other`, in [from, to). */
LM_INLINE void lm_bitmap_add(uint64_t *map, const uint64_t *other, size_t from, size_t to) {
  for (size_t w = from / 64; w * 64 < to; w++) map[w] |= other[w] & lm_bitmap_mask(w, from, to);
}

/* One of 1 << `bits` buckets for a page's number, or for anything else that many others differ from
 * in any of its bits: the highest bits of a product depend on all of the factor's. */
LM_INLINE size_t lm_hash(uint64_t number, unsigned bits) {
  return (size_t)(number * 0x9e3779b97f4a7c15u >> (64 - bits));
}

#define LM_BITMAP_NONE ((size_t)-1)

/* The lowest run of `length` clear bits in [from, to), or LM_BITMAP_NONE. */
LM_INLINE size_t lm_bitmap_lowest_run(const uint64_t *map, size_t from, size_t to,
                                      size_t length) {
  for (;;) {
    size_t start = lm_bitmap_find_clear(map, from, to);
    if (start + length > to) return LM_BITMAP_NONE;
    size_t end = lm_bitmap_find_set(map, start, start + length);
    if (end == start + length) return start;
    from = end;
  }
}

/* The bits of `word` at which `length` set bits end, 1 to 64, that may have begun in the word
 * before, which is `previous`. */
LM_INLINE uint64_t lm_bits_run_ends(uint64_t word, uint64_t previous, size_t length) {
  for (size_t have = 1, step; have < length && word != 0; have += step) {
    step = lm_min(have, length - have); /* below 64 */
    word &= word << step | previous >> (64 - step);
    previous &= previous << step;
  }
  return word;
}

/* The highest run of `length` clear bits in [from, to) whose first bit is a multiple of
 * `alignment`, or LM_BITMAP_NONE. */
LM_INLINE size_t lm_bitmap_highest_run(const uint64_t *map, size_t from, size_t to,
                                       size_t length, size_t alignment) {
  for (;;) {
    size_t end = lm_bitmap_find_last(map, from, to, ~(uint64_t)0);
    if (end < from + length) return LM_BITMAP_NONE;
    size_t start = lm_align_down(end - length, alignment);
    if (start < from) return LM_BITMAP_NONE;
    size_t last_set = lm_bitmap_find_last(map, start, start + length, 0);
    if (last_set == start) return start;
    to = last_set; /* the run must end at or below the highest bit that is in the way */
  }
}

#endif
