/* What the variable LOAM_REDIRECT of the environment asks for: words with commas between. */
#ifndef LM_REDIRECT_OPTIONS_WINDOWS_H
#define LM_REDIRECT_OPTIONS_WINDOWS_H

#include "base/compiler.h"

struct lm_redirect_options {
  bool anyway;   /* also over what another tool has put there */
  bool tables;   /* by tables of imports and exports, not by jumps */
  bool children; /* processes that this one starts are redirected, too */
  bool verify;   /* says at the end what leads to loam */
};
extern struct lm_redirect_options lm_redirect_options;

/* A word that is none of these is named on standard error. */
void lm_redirect_options_read(void);

#endif
