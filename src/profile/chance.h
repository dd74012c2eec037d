/* Which allocations are sampled, and what each sample stands for.
 *
 * Points are thrown onto the bytes that the program takes, at random, `bytes` apart on average
 * (a Poisson process), and a block with a point in it is a sample. So a block of s bytes is one
 * with the probability 1 - exp(-s / bytes), whatever was taken before; and each sample stands for
 * 1 / that many blocks of its size. Sums of those are right on average for any program. */
#ifndef LM_PROFILE_CHANCE_H
#define LM_PROFILE_CHANCE_H

#include "base/compiler.h"

/* The next point's distance, in points' mean distances. Changes `*state`, which is never 0. */
double lm_chance_distance(uint64_t *state);

/* The first block with a point in it, of blocks of one size of which each has so many mean
 * distances: 1 for the next one. */
uint32_t lm_chance_count(uint64_t *state, double block);

/* How many blocks a sample stands for that has so many mean distances. */
double lm_chance_weight(double block);

/* The square root, up to the next whole number. */
uint64_t lm_chance_deviation(double variance);

#endif
