/* Where the memory of regions and of huge blocks comes from: the system, or callbacks of the
 * program's.
 *
 * NULL as the provider is the system. A provider's functions return what those of os.h do, and a
 * callback that breaks its contract (include/loam/loam.h) in a way that can be told ends the
 * program. errno stays as it is. */
#ifndef LM_PAGES_PROVIDER_H
#define LM_PAGES_PROVIDER_H

#include "base/bits.h"
#include "loam/loam.h"
#include "os/os.h"

/* Whether it has the callbacks that no provider can do without. */
LM_INLINE bool lm_provider_is_complete(const struct loam_page_provider *provider) {
  return provider != NULL && provider->reserve != NULL && provider->release != NULL;
}

/* A callback of the calling thread's is under way. */
extern LM_THREAD_LOCAL bool lm_in_callback LM_TLS_MODEL;

/* As lm_os_reserve. Always with addresses that the table of tags covers. */
int lm_provider_reserve(const struct loam_page_provider *provider, size_t size, size_t alignment,
                        void **result);

/* As lm_os_commit. */
int lm_provider_commit(const struct loam_page_provider *provider, void *address, size_t size);

/* As lm_os_map. */
int lm_provider_map(const struct loam_page_provider *provider, size_t size, size_t alignment,
                    void **result);

/* Asks for huge pages in new memory of the system's, or refuses them, as the option huge_pages
 * says; `much`: it is a part of much that is in use. */
void lm_provider_begin_huge(const struct loam_page_provider *provider, void *address, size_t size,
                            bool much);
/* The memory has become a part of much. */
void lm_provider_accept_huge(const struct loam_page_provider *provider, void *address, size_t size);

/* As lm_os_purge. Effort is counted in pages: a call of this takes as much, beside those that it
 * purges, as LM_PURGE_CALL_EFFORT more. 512 take 190 microseconds, one 2.2; but 15, as much as 40
 * more, while another processor runs a thread of the process, which has to be interrupted. */
#define LM_PURGE_CALL_EFFORT 20
int lm_provider_purge(const struct loam_page_provider *provider, void *address, size_t size);

/* Where a purge that begins at page `from` ends, which is set in `map`, as all are that are to go;
 * no page in [from, end) is in use. It takes in what else is to go behind pages that are clean: to
 * pass these costs less than a further call. With `apart` it does not, since clean pages have no
 * memory to be purged. */
size_t lm_provider_purge_end(const uint64_t *map, const uint64_t *dirty_pages, size_t from,
                             size_t end, bool apart);

/* So much effort one call of the program's may take to give back what the clock asks for, so that
 * none pays for all: 2 MiB at once, or 27 pages that lie apart. */
#ifndef LM_PURGED_BY_CALL_BYTES /* tests have less, so that calls often leave something over */
#define LM_PURGED_BY_CALL_BYTES (2 * LM_MIB)
#endif
LM_INLINE size_t lm_purge_effort(void) {
  return (LM_PURGED_BY_CALL_BYTES >> lm_os.page_shift) + 64;
}

LM_INLINE void lm_spend_effort(size_t *effort, size_t count) {
  *effort -= lm_min(*effort, count);
}

/* What the system or a provider does not take back counts as tried: it costs its effort, and is not
 * tried again in the same round, which may be a turn of the clock through all there is, or one
 * early purge. After a round in which something was refused and nothing taken there is no other for
 * half the option purge_delay_ms, and for twice as long each time that this comes again in a row:
 * then nothing can be purged (locked memory, a filter of system calls), and trying is not free. A
 * round in which anything was taken puts nothing off: what is refused for good, as a page that the
 * program has locked, keeps nothing else. Whoever the rounds belong to has one of these, zero at
 * first, under the lock of what is purged. */
struct lm_refusals {
  uint64_t until_ms;    /* no round before; means something if in_a_row is not 0 */
  uint32_t in_a_row;    /* rounds; no more than matter */
  bool taken, refused;  /* something was, in the round under way */
};

LM_INLINE bool lm_refusals_last(const struct lm_refusals *refusals) {
  return LM_UNLIKELY(refusals->in_a_row != 0) && lm_os_clock_ms() < refusals->until_ms;
}
LM_INLINE void lm_refusals_note(struct lm_refusals *refusals, bool taken) {
  if (LM_LIKELY(taken)) refusals->taken = true;
  else refusals->refused = true;
}
void lm_refusals_end_round(struct lm_refusals *refusals);

/* As lm_os_release, but only for a whole reservation. */
void lm_provider_release(const struct loam_page_provider *provider, void *address, size_t size);

/* Whether reserved memory may not be accessed before it is committed, and purged memory not before
 * it is committed again. */
LM_INLINE bool lm_provider_decommits(const struct loam_page_provider *provider) {
  return provider != NULL || lm_os.purge_decommits;
}

/* Whether memory can be given back but by release. */
LM_INLINE bool lm_provider_purges(const struct loam_page_provider *provider) {
  return provider == NULL || provider->purge != NULL;
}

#endif
