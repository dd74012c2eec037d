#include "profile/samples.h"

#include <string.h>

#include "base/bits.h"
#include "base/probe.h"
#include "os/os.h"
#include "pages/meta.h"

#define SITE_BUCKET_BITS 12
#define SAMPLES_AT_ONCE 64

struct lm_lock lm_profile_lock = LM_LOCK_INIT(LM_RANK_PROFILE);
struct lm_profile_totals lm_profile_totals;
_Atomic(struct lm_profile_site *) lm_profile_sites;
_Atomic(size_t) lm_profile_large_count;
struct lm_profile_sample *lm_profile_samples[1 << LM_PROFILE_BUCKET_BITS];
struct lm_profile_freed lm_profile_freed[LM_PROFILE_FREED_MAX];
static struct lm_profile_site *sites_by_callers[1 << SITE_BUCKET_BITS];
static struct lm_profile_sample *unused_samples;
static size_t made_sample_count, site_count;

void *lm_profile_take_record(size_t bytes) {
  void *record = lm_meta_take(bytes);
  if (record != NULL) lm_add_relaxed(&lm_profile_totals.record_bytes, bytes);
  return record;
}

/* ---- Sites ---- */

static struct lm_profile_site **site_bucket(const uintptr_t *callers, size_t depth) {
  uint64_t mixed = depth;
  for (size_t i = 0; i < depth; i++) mixed = (mixed ^ callers[i]) * 0x9e3779b97f4a7c15u;
  return &sites_by_callers[lm_hash(mixed, SITE_BUCKET_BITS)];
}

static struct lm_profile_site *make_site(struct lm_profile_site **bucket,
                                         const uintptr_t *callers, size_t depth) {
  struct lm_profile_site *site = NULL;
  size_t bytes = sizeof *site + depth * sizeof *callers;
  if (site_count < LM_PROFILE_SITES_MAX) site = lm_profile_take_record(bytes);
  if (site == NULL) return NULL;
  site->number = (uint32_t)++site_count;
  site->depth = (uint32_t)depth;
  memcpy(site->callers, callers, depth * sizeof *callers);
  site->next = *bucket;
  *bucket = site;
  site->next_made = lm_load_relaxed(&lm_profile_sites);
  lm_store_release(&lm_profile_sites, site);
  return site;
}

static struct lm_profile_site *find_site(const uintptr_t *callers, size_t depth) {
  struct lm_profile_site **bucket = site_bucket(callers, depth);
  for (struct lm_profile_site *site = *bucket; site != NULL; site = site->next)
    if (site->depth == depth && memcmp(site->callers, callers, depth * sizeof *callers) == 0)
      return site;
  return make_site(bucket, callers, depth);
}

struct lm_profile_site *lm_profile_find_site(const uintptr_t *callers, size_t depth) {
  lm_lock_take(&lm_profile_lock);
  struct lm_profile_site *site = find_site(callers, depth);
  lm_lock_free(&lm_profile_lock);
  return site;
}

/* ---- Sums ---- */

static void add_sample(struct lm_profile_sum *sum, const struct lm_profile_sample *sample) {
  sum->count += sample->count;
  sum->bytes += sample->weighted_bytes;
  sum->variance += sample->variance;
  sum->sample_count++;
}

static void subtract_sample(struct lm_profile_sum *sum, const struct lm_profile_sample *sample) {
  sum->count -= sample->count;
  sum->bytes -= sample->weighted_bytes;
  double variance = sum->variance - sample->variance; /* rounded: none may be less than none */
  sum->variance = variance > 0 ? variance : 0;
  sum->sample_count--;
}

struct lm_profile_sum lm_profile_at_peak(const struct lm_profile_site *site) {
  return site->peak_round < lm_profile_totals.peak_round ? site->live : site->at_peak;
}

/* What is live at the site is about to change. */
static void keep_peak(struct lm_profile_site *site) {
  site->at_peak = lm_profile_at_peak(site);
  site->peak_round = lm_profile_totals.peak_round;
}

static void note_peak(void) {
  if (lm_profile_totals.live.bytes <= lm_profile_totals.peak.bytes) return;
  lm_profile_totals.peak = lm_profile_totals.live;
  lm_profile_totals.peak_round++;
}

void lm_profile_begin(void) {
  lm_lock_take(&lm_profile_lock);
  lm_profile_totals.taken = (struct lm_profile_sum){0, 0, 0, 0};
  lm_profile_totals.lost_count = 0;
  lm_profile_totals.peak = lm_profile_totals.live;
  lm_profile_totals.peak_round++;
  for (struct lm_profile_site *site = lm_load_relaxed(&lm_profile_sites); site != NULL;
       site = site->next_made)
    site->taken = (struct lm_profile_sum){0, 0, 0, 0};
  lm_lock_free(&lm_profile_lock);
}

/* ---- Samples ---- */

static struct lm_profile_sample **sample_bucket(const void *block) {
  return &lm_profile_samples[lm_hash((uintptr_t)block >> 4, LM_PROFILE_BUCKET_BITS)];
}

/* The lock is held. Whoever reads from outside knows a sample without a block for one that is none
 * any longer. */
static void put_by(struct lm_profile_sample *sample) {
  sample->block = NULL;
  sample->next = unused_samples;
  unused_samples = sample;
}

static void make_samples(void) {
  if (made_sample_count >= LM_PROFILE_SAMPLES_MAX) return;
  struct lm_profile_sample *made = lm_profile_take_record(SAMPLES_AT_ONCE * sizeof *made);
  for (size_t i = 0; made != NULL && i < SAMPLES_AT_ONCE; i++) put_by(&made[i]);
  if (made != NULL) made_sample_count += SAMPLES_AT_ONCE;
}

struct lm_profile_sample *lm_profile_new_sample(struct lm_profile_site *site) {
  lm_lock_take(&lm_profile_lock);
  if (unused_samples == NULL) make_samples();
  struct lm_profile_sample *sample = site != NULL ? unused_samples : NULL;
  if (sample != NULL) {
    unused_samples = sample->next;
    sample->site = site;
  } else {
    lm_profile_totals.lost_count++;
  }
  lm_lock_free(&lm_profile_lock);
  return sample;
}

void lm_profile_drop_sample(struct lm_profile_sample *sample) {
  lm_lock_take(&lm_profile_lock);
  put_by(sample);
  lm_lock_free(&lm_profile_lock);
}

/* So many samples of large blocks more, or fewer. */
static void count_large(const struct lm_profile_sample *sample, size_t count) {
  if (sample->large)
    lm_store_relaxed(&lm_profile_large_count, lm_load_relaxed(&lm_profile_large_count) + count);
}

void lm_profile_insert(struct lm_profile_sample *sample) {
  struct lm_profile_site *site = sample->site;
  struct lm_profile_sample **bucket = sample_bucket(sample->block);
  lm_lock_take(&lm_profile_lock);
  sample->next = *bucket;
  *bucket = sample;
  count_large(sample, 1);
  keep_peak(site);
  add_sample(&site->taken, sample);
  add_sample(&site->live, sample);
  add_sample(&lm_profile_totals.taken, sample);
  add_sample(&lm_profile_totals.live, sample);
  note_peak();
  lm_lock_free(&lm_profile_lock);
  /* Nobody frees it yet. The names are OpenTelemetry's. */
  LM_PROBE_3("otel_memory", "alloc", (uintptr_t)sample->block, sample->bytes,
             sample->weighted_bytes);
}

/* The lock is held. */
static struct lm_profile_sample *remove_sample(const void *block) {
  struct lm_profile_sample **link = sample_bucket(block);
  while (*link != NULL && (*link)->block != block) link = &(*link)->next;
  struct lm_profile_sample *sample = *link;
  if (sample != NULL) *link = sample->next;
  return sample;
}

static void note_freed(const struct lm_profile_sample *sample) {
  size_t at = lm_profile_totals.freed_count++ % LM_PROFILE_FREED_MAX;
  lm_profile_freed[at] = (struct lm_profile_freed){
      sample->site, sample->shadow != NULL ? sample->shadow : sample->block, sample->bytes,
      sample->weighted_bytes};
}

bool lm_profile_remove(const void *block, struct lm_profile_sample *removed) {
  lm_lock_take(&lm_profile_lock);
  struct lm_profile_sample *sample = remove_sample(block);
  if (sample != NULL) {
    *removed = *sample;
    count_large(sample, (size_t)-1);
    keep_peak(sample->site);
    subtract_sample(&sample->site->live, sample);
    subtract_sample(&lm_profile_totals.live, sample);
    note_freed(sample);
    put_by(sample);
  }
  lm_lock_free(&lm_profile_lock);
  if (sample == NULL) return false;
  LM_PROBE_1("otel_memory", "free", (uintptr_t)block);
  return true;
}

void lm_profile_visit(lm_profile_visitor *visit, void *context) {
  for (size_t i = 0; i < sizeof lm_profile_samples / sizeof *lm_profile_samples; i++)
    for (const struct lm_profile_sample *sample = lm_profile_samples[i]; sample != NULL;
         sample = sample->next)
      visit(context, sample);
}
