/* The option page_size: memory of blocks stands in huge pages that have been set aside (hugetlbfs),
 * or in large pages of Windows, as long as there are any: of 1 GiB, else of 2 MiB, else, region by
 * region, in ordinary memory. They are a page provider of the process's, whose memory goes back by
 * whole regions only. Where there are no other huge pages, huge_pages=always asks for them, too. */
#ifndef LM_PAGES_EXPLICIT_H
#define LM_PAGES_EXPLICIT_H

#include "pages/provider.h"

extern const struct loam_page_provider lm_explicit_pages;

/* Whether an option asks for such pages, and there is one. Says in a line that the process may not
 * have them. At process start. */
bool lm_explicit_are_there(void);

#endif
