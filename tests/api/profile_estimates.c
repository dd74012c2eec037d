/* A profile's estimates are right within their statistical error, for whatever the program does:
 * each place here takes a number of blocks that is known. */
#include "names.h"

#include <math.h>
#include <sys/wait.h>

#include "profile_file.h"

#define SAMPLE_BYTES 4096

struct place {
  const char *name;
  void *(*take)(size_t size);
  size_t size, count;
  int kept_of_16; /* so many of 16 blocks are never freed */
  const void *caller;
};

static struct place *place; /* whose take is running */

/* Each is called from one place only, and by no tail call: the return address tells it. */
#define TAKES(name, expression)                                          \
  static __attribute__((noinline)) void *name(size_t size) {             \
    void *block = opaque(expression);                                    \
    place->caller = __builtin_return_address(0);                         \
    return block;                                                        \
  }
TAKES(take_malloc, malloc(size))
TAKES(take_calloc, calloc(1, size))
TAKES(take_aligned, aligned_alloc(64, size))
TAKES(take_page_aligned, aligned_alloc(8192, size))
TAKES(take_realloc, realloc(malloc(size / 4), size))

static __attribute__((noinline)) void take_small(struct place *p, size_t i, void **last) {
  void *block = p->take(p->size);
  if ((int)(i % 16) < p->kept_of_16) return;
  free(*last);
  *last = block;
}
static __attribute__((noinline)) void run(struct place *p) {
  void *last = NULL;
  place = p;
  for (size_t i = 0; i < p->count; i++) take_small(p, i, &last);
  free(last);
}

static struct place places[] = {
    {"a few bytes, freed at once", take_malloc, 24, 400000, 0, NULL},
    {"calloc", take_calloc, 200, 60000, 8, NULL},
    {"aligned", take_aligned, 320, 40000, 4, NULL},
    {"two kilobytes", take_malloc, 2000, 8000, 12, NULL},
    {"moved by realloc", take_realloc, 1200, 8000, 6, NULL},
    {"page aligned", take_page_aligned, 9000, 1000, 4, NULL},
};

/* Five standard deviations: a block in `size / SAMPLE_BYTES` of a sample's distance is one with the
 * probability p, and of `count` blocks each stands for 1 / p. The checking build's blocks are
 * larger, and sampled more often. */
static double tolerance(double count, double size) {
  double p = 1 - exp(-size / SAMPLE_BYTES);
  return 5 * sqrt(count * (1 - p) / p) + 1;
}

/* All blocks of a place are taken from one caller each, but by take_small for all of them: what
 * tells them apart is the size. So each place has a run of its own. */
static void check(struct place *p, const char *path) {
  CHECK_EQ(loam_profile_start(SAMPLE_BYTES), 0);
  run(p);
  loam_profile_stop();
  CHECK_EQ(loam_profile_write(path), 0);
  read_profile(path);
  struct sums sums = sums_from(p->caller);
  double kept = (double)p->count * p->kept_of_16 / 16, taken = (double)p->count;
  double moved = p->take == take_realloc ? 2 : 1; /* blocks for each, the first one smaller */
  printf("%s: taken %.0f of %.0f, live %.0f of %.0f\n", p->name, sums.taken_count, taken * moved,
         sums.live_count, kept);
  double size = (double)p->size / (moved == 2 ? 4 : 1);
  CHECK(fabs(sums.taken_count - taken * moved) <= 2 * tolerance(taken, size));
  CHECK(sums.live_count >= kept - tolerance(kept, (double)p->size));
  if (strcmp(test_build(), "checking") != 0) { /* that holds freed blocks back */
    CHECK(sums.live_count <= kept + tolerance(kept, (double)p->size));
    if (p->kept_of_16 == 0) CHECK_EQ(sums.live_bytes, 0);
  }
  CHECK(sums.taken_bytes >= sums.taken_count * size * 0.9);
}

int main(void) {
  char path[64];
  if (loam_profile_start == NULL || !CALLERS_ARE_KNOWN) return 77;
  snprintf(path, sizeof path, "/tmp/loam-test-profile.%d", getpid());
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    /* From a new profile on, what an earlier place has left is live, too, but taken no more. */
    pid_t child = fork();
    if (child == 0) {
      check(&places[i], path);
      fflush(stdout);
      _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
  unlink(path);
  return 0;
}
