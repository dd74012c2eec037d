/* The samples of a profile: which blocks that the program has were sampled, and, for each place in
 * the program that takes blocks, what the samples taken there stand for. */
#ifndef LM_PROFILE_SAMPLES_H
#define LM_PROFILE_SAMPLES_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"

#define LM_PROFILE_SITES_MAX 65536
#define LM_SITE_DEPTH 128
#define LM_PROFILE_SAMPLES_MAX 1048576 /* that the program has */

/* What samples stand for. Counts of blocks are in 1 / LM_PROFILE_COUNT_UNIT. */
#define LM_PROFILE_COUNT_UNIT 65536
struct lm_profile_sum {
  uint64_t count, bytes, sample_count;
  double variance; /* bytes^2: how far off `bytes` is by chance */
};

/* Under lm_profile_lock, as all of this. */
struct lm_profile_site {
  struct lm_profile_site *next;      /* in its bucket */
  struct lm_profile_site *next_made; /* of all, the newest first */
  struct lm_profile_sum taken;       /* since the profile was started */
  struct lm_profile_sum live;
  struct lm_profile_sum at_peak; /* `live` when peak_round was reached, unless that is older */
  uint64_t peak_round;
  uint32_t number; /* from 1 on */
  uint32_t depth;
  uintptr_t callers[]; /* return addresses, the innermost first, then lines: profile/python.h */
};

struct lm_profile_sample {
  struct lm_profile_sample *next; /* in its bucket, or unused */
  struct lm_profile_site *site;
  void *block;   /* NULL while it is unused */
  void *shadow;  /* an ordinary block of the same size, where the sample would have been; or NULL */
  size_t bytes;  /* usable */
  uint64_t count, weighted_bytes; /* what it stands for, as in a sum */
  double variance;
  uint64_t taken_ms; /* of lm_os_clock_ms */
  bool large; /* counted by lm_profile_large_count */
  bool is_told; /* to the program's callbacks, which have given it this word (api/callbacks.h) */
  void *word;
};

/* A sample that the program has freed: by these one sees what is still in memory of it. */
struct lm_profile_freed {
  struct lm_profile_site *site;
  void *block;  /* or its shadow, if it had one */
  size_t bytes; /* of the block */
  uint64_t weighted_bytes;
};
/* The last ones: number i, from 0 on, is in lm_profile_freed[i % LM_PROFILE_FREED_MAX]. */
#define LM_PROFILE_FREED_MAX 32768
extern struct lm_profile_freed lm_profile_freed[LM_PROFILE_FREED_MAX];

struct lm_profile_totals {
  struct lm_profile_sum taken, live, peak; /* the most bytes that were live at once */
  uint64_t peak_round; /* so often there were more than ever before */
  uint64_t lost_count;          /* samples: there was no memory for them, or too many */
  uint64_t freed_count;         /* ever put into lm_profile_freed */
  _Atomic(size_t) record_bytes; /* of own memory that the profile has; any thread adds to it */
};
extern struct lm_profile_totals lm_profile_totals;
extern _Atomic(struct lm_profile_site *) lm_profile_sites; /* by next_made */
/* By address; of these only pages in use cost memory. */
#define LM_PROFILE_BUCKET_BITS 14
extern struct lm_profile_sample *lm_profile_samples[1 << LM_PROFILE_BUCKET_BITS];
extern struct lm_lock lm_profile_lock;

/* Samples of large blocks that the program has: their frees look for them. Written under the lock;
 * read without it by whoever has such a block, and was told of it since. */
extern _Atomic(size_t) lm_profile_large_count;

/* Own memory that stays the profile's; NULL if there is none. */
void *lm_profile_take_record(size_t bytes);

/* A place, by its callers. It stays for good. NULL if there is no memory for it. */
struct lm_profile_site *lm_profile_find_site(const uintptr_t *callers, size_t depth);
/* A sample of that place; NULL if it is lost, as if there is none. Then to be put in or dropped. */
struct lm_profile_sample *lm_profile_new_sample(struct lm_profile_site *site);
void lm_profile_drop_sample(struct lm_profile_sample *sample);
/* What it stands for, and where it is, has been filled in. */
void lm_profile_insert(struct lm_profile_sample *sample);

/* The block is the program's no longer. If it was a sample, true and what it was. */
bool lm_profile_remove(const void *block, struct lm_profile_sample *removed);

/* Calls `visit` for each sample that the program has. The lock is held. */
typedef void lm_profile_visitor(void *context, const struct lm_profile_sample *sample);
void lm_profile_visit(lm_profile_visitor *visit, void *context);

/* Forgets what has been taken, and the peak; what is live stays so. */
void lm_profile_begin(void);

/* What was live at the site at the peak. The lock is held. */
struct lm_profile_sum lm_profile_at_peak(const struct lm_profile_site *site);

#endif
