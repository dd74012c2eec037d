/* Why the system has refused something, in words. */
#ifndef LM_OS_REASON_H
#define LM_OS_REASON_H

#include "base/compiler.h"
#include "base/format.h"

/* The usual reasons in words, others by their number. */
void lm_text_reason(struct lm_text *text, int error);

/* One line on standard error: what cannot be written, and why. */
void lm_complain_unwritten(const char *what, int error);

#endif
