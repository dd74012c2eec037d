/* How far apart samples are, and what each stands for. */
#include "unit.h"

#include <math.h>

#define DRAWS 200000

static void distances_are_exponential(void) {
  uint64_t state = 88172645463325252u;
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < DRAWS; i++) {
    double distance = lm_chance_distance(&state);
    CHECK(distance >= 0 && distance < 50);
    sum += distance;
    squares += distance * distance;
    beyond_two += distance > 2;
  }
  /* Five standard deviations: of the mean 1, of the second moment 2, of exp(-2). */
  CHECK(fabs(sum / DRAWS - 1) < 5 / sqrt(DRAWS));
  CHECK(fabs(squares / DRAWS - 2) < 5 * sqrt(20.0 / DRAWS));
  CHECK(fabs((double)beyond_two / DRAWS - 0.1353352832) < 5 * sqrt(0.117 / DRAWS));
}

static void the_share_of_sampled_blocks_is_as_their_size_wants(void) {
  const double sizes[] = {0.001, 0.05, 0.5, 1, 3, 20};
  uint64_t state = 2463534242u;
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    double share = 1 / lm_chance_weight(sizes[i]), sum = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
      uint32_t count = lm_chance_count(&state, sizes[i]);
      CHECK(count >= 1);
      sum += count;
    }
    /* A geometric distribution has the mean 1 / share and at most that for its deviation. */
    CHECK(fabs(sum / DRAWS * share - 1) < 5 / sqrt(DRAWS));
  }
}

static void what_a_sample_stands_for(void) {
  CHECK(fabs(lm_chance_weight(1e-6) * 1e-6 - 1) < 1e-5);
  CHECK(fabs(lm_chance_weight(1) - 1.5819767068693265) < 1e-9);
  CHECK(fabs(lm_chance_weight(0.25) - 4.520811664) < 1e-7);
  CHECK_EQ(lm_chance_weight(100), 1);
}

static void counts_have_a_limit(void) {
  uint64_t state = 1;
  for (int i = 0; i < 1000; i++) CHECK(lm_chance_count(&state, 1e-12) > 1000);
}

int main(void) {
  RUN(distances_are_exponential);
  RUN(the_share_of_sampled_blocks_is_as_their_size_wants);
  RUN(what_a_sample_stands_for);
  RUN(counts_have_a_limit);
  return UNIT_RESULT();
}
