/* The program's own callbacks for samples of a heap profile. */
#ifndef LM_API_CALLBACKS_H
#define LM_API_CALLBACKS_H

#include "profile/samples.h"

/* A sample is about to be given to the program, or has been freed by it. No lock is held. */
void lm_callbacks_taken(struct lm_profile_sample *sample);
void lm_callbacks_freed(void *word);

#endif
