/* Where another process finds what it needs to explain this one's memory, and how the structures
 * there are laid out: a note, which a stripped program keeps and which is in memory with its
 * program headers, and a table of names and numbers. `loam explain` reads both; it knows the names
 * and no number, so that it reads every version that has the names it needs. */
#include "api/aside.h"
#include "api/profile.h"
#include "central/shared.h"
#include "pages/huge.h"
#include "pages/mappings.h"
#include "pages/meta.h"
#include "pages/region.h"
#include "profile/python.h"
#include "thread/cache.h"

/* Where a build has notes. Unit tests have none: they are compiled as whole programs, without what
 * only the note names. */
#if defined(__linux__) && !LM_FAKE_OS

struct lm_layout_entry {
  char name[28];
  uint32_t value;
};

#define VALUE(name, value) {name, (uint32_t)(value)}
#define SIZE(name, type) VALUE(name ".size", sizeof(type))
#define FIELD(name, type, field) VALUE(name "." #field, offsetof(type, field))

/* The last one's name is empty. */
extern const struct lm_layout_entry lm_layout[];
const struct lm_layout_entry lm_layout[] = {
    VALUE("pointer.size", sizeof(void *)),
    VALUE("checking", LM_CHECKING),
    VALUE("region.shift", LM_REGION_SHIFT),
    VALUE("region.address_bits", LM_REGION_ADDRESS_BITS),
    VALUE("slice.shift", LM_SLICE_SHIFT),
    VALUE("class.count", LM_CLASS_COUNT),
    VALUE("bin.count", LM_BIN_COUNT),
    VALUE("middle.max_bytes", LM_MIDDLE_MAX_BYTES),
    VALUE("list.blocks_max", 2 * LM_LIST_BLOCKS_MAX), /* in a cache; in a depot half of that */
    VALUE("span.none", LM_SPAN_NONE),
    VALUE("block.cached", LM_BLOCK_CACHED),
    VALUE("block.guarded", LM_BLOCK_GUARDED),
    VALUE("block.none", (uintptr_t)LM_NO_BLOCK),
    FIELD("os", struct lm_os_facts, page_bytes),
    SIZE("tags", struct lm_tags),
    FIELD("tags", struct lm_tags, table),
    FIELD("tags", struct lm_tags, multiplier),
    VALUE("tags.words", LM_TAGS_WORDS),
    SIZE("class", struct lm_class),
    FIELD("class", struct lm_class, block_bytes),
    SIZE("region", struct lm_region),
    FIELD("region", struct lm_region, bytes),
    FIELD("region", struct lm_region, first_slice),
    FIELD("region", struct lm_region, used_pages),
    FIELD("region", struct lm_region, dirty_pages),
    FIELD("region", struct lm_region, spans),
    FIELD("region", struct lm_region, block_pages),
    SIZE("span", struct lm_span),
    FIELD("span", struct lm_span, free_list),
    FIELD("span", struct lm_span, extended_count),
    FIELD("span", struct lm_span, state),
    FIELD("span", struct lm_span, central),
    FIELD("span", struct lm_span, class_index),
    FIELD("span", struct lm_span, slice_count),
    FIELD("span", struct lm_span, dirty_pages),
    FIELD("span", struct lm_span, hole_pages),
    SIZE("cache", struct lm_cache),
    FIELD("cache", struct lm_cache, lists),
    FIELD("cache", struct lm_cache, next_made),
    FIELD("cache", struct lm_cache, thread_id),
    FIELD("cache", struct lm_cache, profile.window), /* begins with a cache */
    FIELD("cache", struct lm_cache, homeward.blocks),
    FIELD("cache", struct lm_cache, homeward.count),
    VALUE("cache.homeward.blocks_max", LM_HOMEWARD_COUNT),
    VALUE("central.count", LM_CENTRAL_MAX),
    FIELD("central", struct lm_central, classes),
    SIZE("central_class", struct lm_central_class),
    FIELD("central_class", struct lm_central_class, lists),
    FIELD("list", struct lm_list, next_list),
    FIELD("shared", struct loam_heap, next),
    VALUE("huge.bucket_count", LM_HUGE_BUCKET_COUNT),
    FIELD("huge", struct lm_huge, next),
    FIELD("huge", struct lm_huge, address),
    FIELD("huge", struct lm_huge, size),
    VALUE("mappings.count", LM_KEPT_MAPPINGS),
    SIZE("mapping", struct lm_kept_mapping),
    FIELD("mapping", struct lm_kept_mapping, address),
    VALUE("mapping.bytes", offsetof(struct lm_kept_mapping, size)),
    VALUE("meta.batch_bytes", LM_META_BATCH_BYTES),
    FIELD("meta", struct lm_meta_batch, next),
    VALUE("profile.order", LM_PROFILE_ORDER),
    VALUE("profile.bytes_min", LM_PROFILE_MIN_BYTES),
    VALUE("profile.bytes_max", LM_PROFILE_MAX_BYTES),
    VALUE("profile.count_unit", LM_PROFILE_COUNT_UNIT),
    FIELD("sum", struct lm_profile_sum, count),
    FIELD("sum", struct lm_profile_sum, bytes),
    FIELD("sum", struct lm_profile_sum, variance),
    FIELD("sum", struct lm_profile_sum, sample_count),
    FIELD("site", struct lm_profile_site, next_made),
    FIELD("site", struct lm_profile_site, taken),
    FIELD("site", struct lm_profile_site, live),
    FIELD("site", struct lm_profile_site, at_peak),
    FIELD("site", struct lm_profile_site, peak_round),
    FIELD("site", struct lm_profile_site, number),
    FIELD("site", struct lm_profile_site, depth),
    FIELD("site", struct lm_profile_site, callers),
    VALUE("site.depth_max", LM_SITE_DEPTH),
    FIELD("line", struct lm_python_line, next_made),
    FIELD("line", struct lm_python_line, number),
    FIELD("line", struct lm_python_line, line),
    FIELD("line", struct lm_python_line, function_line),
    FIELD("line", struct lm_python_line, function_bytes),
    FIELD("line", struct lm_python_line, file_bytes),
    FIELD("line", struct lm_python_line, texts),
    VALUE("sample.bucket_count", 1 << LM_PROFILE_BUCKET_BITS),
    SIZE("sample", struct lm_profile_sample),
    FIELD("sample", struct lm_profile_sample, next),
    FIELD("sample", struct lm_profile_sample, site),
    FIELD("sample", struct lm_profile_sample, block),
    FIELD("sample", struct lm_profile_sample, shadow),
    FIELD("sample", struct lm_profile_sample, bytes),
    FIELD("sample", struct lm_profile_sample, count),
    FIELD("sample", struct lm_profile_sample, weighted_bytes),
    FIELD("sample", struct lm_profile_sample, taken_ms),
    VALUE("freed.count", LM_PROFILE_FREED_MAX),
    SIZE("freed", struct lm_profile_freed),
    FIELD("freed", struct lm_profile_freed, site),
    FIELD("freed", struct lm_profile_freed, block),
    FIELD("freed", struct lm_profile_freed, bytes),
    FIELD("freed", struct lm_profile_freed, weighted_bytes),
    SIZE("totals", struct lm_profile_totals),
    FIELD("totals", struct lm_profile_totals, taken),
    FIELD("totals", struct lm_profile_totals, live),
    FIELD("totals", struct lm_profile_totals, peak),
    FIELD("totals", struct lm_profile_totals, peak_round),
    FIELD("totals", struct lm_profile_totals, lost_count),
    FIELD("totals", struct lm_profile_totals, freed_count),
    FIELD("totals", struct lm_profile_totals, record_bytes),
    VALUE("aside.listed", LM_ASIDE_LISTED),
    VALUE("", 0),
};

/* What the note leads to. */
#define ROOTS(DO) \
  DO(lm_layout) \
  DO(lm_tags) \
  DO(lm_region_map) \
  DO(lm_caches_made) \
  DO(lm_shared_heaps) \
  DO(lm_huge_buckets) \
  DO(lm_meta_batches) \
  DO(lm_classes) \
  DO(lm_os) \
  DO(lm_kept_mappings) \
  DO(lm_profile_sites) \
  DO(lm_profile_samples) \
  DO(lm_profile_freed) \
  DO(lm_profile_totals) \
  DO(lm_profile_bytes) \
  DO(lm_profile_last_bytes) \
  DO(lm_guarded_calls_left) \
  DO(lm_centrals) \
  DO(lm_profile_heap) \
  DO(lm_python_lines) \
  DO(lm_aside)

/* Optimization at link time would not see that the note needs them. */
#define KEEP(symbol) extern __typeof__(symbol) symbol LM_SEEN_FROM_OUTSIDE;
ROOTS(KEEP)

/* The description is a number, which changes when what follows does, and the distances from each
 * word to what it stands for, so that nothing has to be relocated. */
#define TO(symbol) ".hidden " #symbol "\n.long " #symbol " - .\n"
__asm__(".pushsection .note.loam.layout,\"a\",%note\n"
        ".balign 4\n"
        ".long 2f - 1f, 4f - 3f, 1\n"
        "1: .asciz \"loam-layout\"\n"
        "2: .balign 4\n"
        "3: .long 2\n" /* the number */
        ROOTS(TO)
        "4:\n"
        ".popsection\n");

#endif
