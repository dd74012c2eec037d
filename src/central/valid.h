/* The checking build checks itself: what the records of a central's spans and depots say of each
 * other is counted again. Each ends the program where something does not hold. */
#ifndef LM_CENTRAL_VALID_H
#define LM_CENTRAL_VALID_H

#include "central/central.h"
#include "pages/valid.h"

#if LM_VALIDATES
/* One class. Takes the central's lock, and looks at each of the class's free blocks. Writes to the
 * second words of those in the depot, as inspections of caches do. */
void lm_central_validate_class(struct lm_central *central, size_t class_index);

/* All classes, and their sum. */
void lm_central_validate(struct lm_central *central);

/* What every list of blocks of the class is, in a depot or a cache: ends with LM_NO_BLOCK after no
 * more blocks than a list has, all of the class, none twice and none in another list since the mark
 * was made. Returns how many. `in_depot`: the first one's second word is the link to the next list.
 */
size_t lm_list_validate(struct lm_block *first, size_t class_index, bool in_depot, uint64_t mark);
/* A mark that no block has. */
uint64_t lm_list_new_mark(void);
#endif

#endif
