/* How lists pass between a thread's cache and centrals.
 *
 * A list has up to twice its class's `cap` blocks; when it has them, the half that was freed first
 * leaves. `cap` is that of a whole list (lm_list_blocks) as long as all caches together keep no
 * more than the option heap_cache_bytes, shared out by the number of threads.
 *
 * Where a thread gives lists that nobody wants, and malloc does not ask for any, memory is being
 * freed in bulk: from then on blocks of all classes go straight home, a few at a time, and with
 * these some of the lists that it has and of those in the depots, until malloc asks a central again
 * or half a second has passed. So threads that free all they have and fall asleep keep next to
 * nothing.
 *
 * (Rejected: a second list behind the first, so that none is walked along to be halved; a thread
 * whose list is nearly empty would exchange the two all the time. To count frees alone: malloc
 * takes an instruction less, and lists are looked at that are not full, all of them cold.) */
#ifndef LM_THREAD_LISTS_H
#define LM_THREAD_LISTS_H

#include "pages/region.h"
#include "thread/cache.h"

/* A small block of the class whose list was found empty; NULL if out of memory. `*zero` says
 * whether the block reads as zero. */
void *lm_cache_refill(struct lm_cache *cache, size_t class_index, bool *zero);
/* The same of a middle class, NULL if no list has any: then it is the pool's to give one. */
void *lm_cache_refill_middle(struct lm_cache *cache, size_t class_index);

/* Frees a block of the class, small or middle, whose list takes no more. */
void lm_cache_overflow(struct lm_cache *cache, size_t class_index, struct lm_block *block);
/* The same in a few instructions, if the thread frees in bulk and the block waits for others. */
LM_INLINE bool lm_cache_free_in_bulk(struct lm_cache *cache, struct lm_block *block) {
  size_t count = cache->homeward.count + 1;
  if (count >= cache->homeward.limit) return false;
  __builtin_prefetch(lm_span_record_of(block), 1);
  cache->homeward.blocks[count - 1] = block;
  cache->homeward.count = count;
  return true;
}

/* So much time has passed: the lists of some classes go to the depot, which keeps them for a while
 * if they are wanted again; of all classes in LM_CACHE_AGE_MS. */
void lm_cache_age(struct lm_cache *cache, uint64_t elapsed_ms);
#define LM_CACHE_AGE_MS 500

/* What waits for others to go home with goes. */
void lm_cache_send_homeward(struct lm_cache *cache);
/* All lists go to depots, or home where these have no room, and no class is asked for. */
void lm_cache_give_up(struct lm_cache *cache);
/* All lists go home now. */
void lm_cache_flush(struct lm_cache *cache);

#endif
