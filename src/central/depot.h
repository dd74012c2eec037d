/* Depots: lists of free blocks that caches have no room for. One is given in constant time; who
 * takes has no more of it than it wants. A depot has room for few blocks of a class. Who takes some
 * makes room for one whole list more; and so does who asks in vain for what has been put back
 * before, so that a program that frees much and takes it again finds it here the second time. As
 * time goes by there is less room again. So what is freed and wanted by nobody does not stay here
 * and keep its pages.
 *
 * (Rejected: whole lists to whoever asks. A thread that needs few blocks would keep the others.) */
#ifndef LM_CENTRAL_DEPOT_H
#define LM_CENTRAL_DEPOT_H

#include "central/central.h"

#define LM_DEPOT_LISTS_FIRST 1
#define LM_DEPOT_BYTES (4 * LM_MIB)

/* A list of the class, out of this central's depot; NULL if it has none. Of one that is known to
 * have more than `want` blocks no more than these are taken, so that a thread that needs few leaves
 * the others to others. `*count_max`: what it has at most. The lock is held. */
struct lm_block *lm_depot_pop(struct lm_central *central, size_t class_index, size_t want,
                              size_t *count_max);
/* The same; no lock is held. */
struct lm_block *lm_depot_take(struct lm_central *central, size_t class_index, size_t want,
                               size_t *count_max);
/* The same of another central's, near ones first. */
struct lm_block *lm_depot_take_elsewhere(struct lm_central *central, size_t class_index,
                                         size_t want, size_t *count_max);

/* What becomes of a list that is given. */
enum lm_list_fate {
  LM_LIST_REFUSED, /* there is no room: the caller sends it back to where it came from */
  LM_LIST_KEPT,    /* nobody has asked for the class since a list of it was given */
  LM_LIST_LEARNED, /* the same; but there is more room than at first, since lists were asked for */
  LM_LIST_WANTED,  /* the class has been asked for since */
};
/* Gives a list of at most `count_max` blocks. No lock is held. */
enum lm_list_fate lm_depot_give(struct lm_central *central, size_t class_index,
                                struct lm_block *first, size_t count_max);

/* A list of the class is asked for in vain. As many of its blocks have been put back into spans, so
 * that the depot would have had one: it shall have room for it the next time. The lock is held. */
void lm_depot_learn(struct lm_central_class *class, size_t class_index);
/* The same of a middle class. No lock is held. */
void lm_depot_learn_middle(struct lm_central *central, size_t class_index);

/* Puts back half of the lists of the class that nobody has needed since this was last called, or
 * all there are, as far as `*effort` does (lm_purge_effort). Returns whether there are more. */
bool lm_depot_age(struct lm_central *central, size_t class_index, bool all, size_t *effort);

/* Puts the blocks of a list back where they come from. The central, whose lock is not held, is the
 * one that shall have room for such a list if it is asked for middle blocks. `refused`: the
 * depot had no room for it. */
void lm_depot_put_back(struct lm_central *central, size_t class_index, struct lm_block *first,
                       bool refused);

/* About what a whole list of the class has. */
LM_INLINE size_t lm_depot_list_bytes(size_t class_index) {
  return lm_list_blocks[class_index] * lm_sizeclass_bytes(class_index);
}

#endif
