#include "pages/block.h"

#if LM_HARDENED_LINKS
uintptr_t lm_link_key;
#endif
