/* The modules of the process, as the loader lists them. */
#ifndef LM_REDIRECT_MODULES_WINDOWS_H
#define LM_REDIRECT_MODULES_WINDOWS_H

#include "base/format.h"
#include "redirect/image_windows.h"

/* Where the library itself is. */
extern char lm_own_base[] __asm__(LM_SYMBOL("__ImageBase"));

struct lm_module {
  struct lm_image image;
  const wchar_t *name; /* of the file, without folders; `length` characters */
  size_t length;
  bool has_begun;  /* its own start has been called */
  bool is_systems; /* in Windows' own folders */
};

/* Calls `visit` for each, in the order of loading: the program is the first. In DllMain or a
 * notification of the loader's, so that no other thread changes the list. */
typedef void lm_module_visitor(void *context, const struct lm_module *module);
void lm_modules_visit(lm_module_visitor *visit, void *context);

bool lm_module_is_called(const struct lm_module *module, const char *name);
void lm_text_module(struct lm_text *text, const struct lm_module *module);

/* From here on `loaded` is called for each module that is loaded, before it begins. */
void lm_modules_watch(void (*loaded)(const struct lm_module *module));

#endif
