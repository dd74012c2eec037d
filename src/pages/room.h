/* Room in the address space of a process that has come to its limit: what is kept of mappings goes
 * back, and the table of tags. Who could not map memory tries once more then. */
#ifndef LM_PAGES_ROOM_H
#define LM_PAGES_ROOM_H

#include "base/compiler.h"

/* Whether that made room. */
bool lm_room_make(void);

#endif
