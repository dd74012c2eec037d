/* Processes that this one starts. */
#ifndef LM_REDIRECT_CHILDREN_WINDOWS_H
#define LM_REDIRECT_CHILDREN_WINDOWS_H

/* From here on each gets this library, too, as its first. In DllMain. */
void lm_children_follow(void);

#endif
