#include "profile/chance.h"

#include <string.h>

/* The natural logarithm of a positive number, to within 1e-11: of its power of two, and of the
 * rest, which is between 0.7 and 1.5, by the series of artanh. */
static double logarithm(double number) {
  const double of_2 = 0.69314718055994530942;
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  int power = (int)(bits >> 52) - 1023;
  bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
  memcpy(&number, &bits, sizeof bits);
  if (number > 1.41421356) number /= 2, power++;
  double t = (number - 1) / (number + 1), square = t * t, sum = 1.0 / 15;
  static const double others[] = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1};
  for (int i = 0; i < 7; i++) sum = sum * square + others[i];
  return power * of_2 + 2 * t * sum;
}

/* 1 - exp(-x) for x > 0: of a part of x that is below a half by the exponential series, which is
 * then doubled, by 1 - (1 - p)^2 = p * (2 - p), as often as x was halved. */
static double one_less_exponential(double x) {
  int doublings = 0;
  if (x > 64) return 1;
  for (; x > 0.5; x /= 2) doublings++;
  double sum = 0;
  /* Of most blocks, which are small, the first terms are all that counts. */
  for (int i = x < 1.0 / 64 ? 5 : 14; i >= 1; i--) sum = (1 - sum) * x / i;
  for (; doublings > 0; doublings--) sum *= 2 - sum;
  return sum;
}

static uint64_t next_random(uint64_t *state) { /* xorshift64* */
  uint64_t x = *state;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  *state = x;
  return x * 0x2545f4914f6cdd1du;
}

double lm_chance_distance(uint64_t *state) {
  /* In (0, 1]. */
  double uniform = (double)((next_random(state) >> 11) + 1) / (double)((uint64_t)1 << 53);
  return -logarithm(uniform);
}

uint32_t lm_chance_count(uint64_t *state, double block) {
  double count = lm_chance_distance(state) / block; /* rounded up it is distributed as wanted */
  return count < UINT32_MAX - 1 ? (uint32_t)count + 1 : UINT32_MAX;
}

double lm_chance_weight(double block) { return 1 / one_less_exponential(block); }

uint64_t lm_chance_deviation(double variance) {
  if (variance <= 0) return 0;
  /* By Newton, from above. */
  double root = variance > 1 ? variance : 1, next = (root + variance / root) / 2;
  for (; next < root; next = (root + variance / root) / 2) root = next;
  uint64_t whole = (uint64_t)root;
  return (double)whole < root ? whole + 1 : whole;
}
