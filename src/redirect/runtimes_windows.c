#include "redirect/runtimes_windows.h"

#include <string.h>

#include "api/family_windows.h"
#include "os/os.h"
#include "redirect/jump.h"
#include "redirect/options_windows.h"
#include "redirect/patch_windows.h"
#include "redirect/tables_windows.h"

int *(*lm_runtime_errno)(void);

static const char *const runtimes[] = {"ucrtbase.dll", "msvcrt.dll",   "msvcr120.dll",
                                       "msvcr110.dll", "msvcr100.dll", "msvcr90.dll"};
/* Their blocks have heads that the runtime checks. */
static const char *const debug_runtimes[] = {"ucrtbased.dll", "msvcrtd.dll",   "msvcr120d.dll",
                                             "msvcr110d.dll", "msvcr100d.dll", "msvcr90d.dll"};

static bool is_called_one_of(const struct lm_module *module, const char *const *names,
                             size_t count) {
  for (size_t i = 0; i < count; i++)
    if (lm_module_is_called(module, names[i])) return true;
  return false;
}

bool lm_is_runtime(const struct lm_module *module) {
  return is_called_one_of(module, runtimes, sizeof runtimes / sizeof *runtimes);
}

bool lm_is_of_family(const char *name) {
  for (size_t i = 0; i < LM_WINDOWS_FAMILY_COUNT; i++)
    if (strcmp(name, lm_windows_family[i].name) == 0) return true;
  return false;
}

/* ---- Where code leads ---- */

static uint64_t jump_at(const char *address) {
  struct lm_os_mapping mapping;
  uintptr_t last = (uintptr_t)address + LM_FAR_JUMP_BYTES - 1;
  if (!lm_os_find_mapping((uintptr_t)address, &mapping) || !mapping.readable ||
      last >= mapping.end)
    return 0;
  return lm_jump_read(LM_THIS_PROCESSOR, (uintptr_t)address, (const uint8_t *)address);
}

#define JUMPS_MAX 4 /* an export's own, the near one, the far one, and one to spare */

bool lm_leads_to_loam(const void *address) {
  struct lm_image own;
  if (!lm_image_read(lm_own_base, &own)) return false;
  for (int i = 0; i <= JUMPS_MAX && address != NULL; i++) {
    if (lm_image_holds(&own, address)) return true;
    address = (const void *)(uintptr_t)jump_at(address);
  }
  return false;
}

/* An exported function may be a jump to the one that the runtime's own parts call. */
static char *body_of(const struct lm_image *image, char *function) {
  char *to = (char *)(uintptr_t)jump_at(function);
  return to != NULL && lm_image_holds(image, to) &&
                 lm_image_is_code(image, to, lm_near_jump_bytes(LM_THIS_PROCESSOR))
             ? to
             : function;
}

/* ---- Redirecting one ---- */

/* Those that it has, each place once; 0 also if one place would have to lead to two. */
static size_t find_patches(const struct lm_image *image, struct lm_patch *patches) {
  size_t count = 0;
  for (size_t i = 0; i < LM_WINDOWS_FAMILY_COUNT; i++) {
    const struct lm_windows_function *own = &lm_windows_family[i];
    const DWORD *entry = lm_image_export(image, own->name);
    if (entry == NULL || lm_leads_to_loam(image->base + *entry)) continue;
    struct lm_patch patch = {own->name, body_of(image, image->base + *entry), own->function};
    size_t same = 0;
    while (same < count && patches[same].function != patch.function) same++;
    if (same == count) patches[count++] = patch;
    else if (patches[same].replacement != patch.replacement) return 0;
  }
  return count;
}

static const char *reason_of(enum lm_patch_result result) {
  switch (result) {
  case LM_PATCH_NOT_AS_IN_FILE: return "is not as in its file: another tool has changed it";
  case LM_PATCH_TOO_SHORT: return "is too short for a jump";
  case LM_PATCH_NO_RELAY: return "has no memory near it that code may be in";
  case LM_PATCH_PROTECTED: return "may not be changed (Arbitrary Code Guard or its like)";
  case LM_PATCH_IN_USE: return "is in use by a thread that does not leave it";
  case LM_PATCH_DONE: break;
  }
  return "is asked to be left";
}

static void say_of_runtime(const struct lm_module *module, const char *function, const char *reason,
                const char *rest) {
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam: ");
  lm_text_module(&text, module);
  if (function != NULL) {
    lm_text_string(&text, ": ");
    lm_text_string(&text, function);
    lm_text_char(&text, ' ');
  }
  lm_text_string(&text, reason);
  lm_text_string(&text, rest);
  lm_text_char(&text, '\n');
  lm_os_write(2, text.bytes, text.length);
}

static void redirect_by_tables(const struct lm_module *module) {
  bool complete = true;
  for (size_t i = 0; i < LM_WINDOWS_FAMILY_COUNT; i++)
    complete &= lm_tables_lead(&module->image, lm_windows_family[i].name,
                               lm_windows_family[i].function);
  if (!complete)
    say_of_runtime(module, NULL, "'s table of exports does not reach loam",
        ": modules that are loaded later stay with it");
}

static void redirect_all(const struct lm_module *module) {
  struct lm_patch patches[LM_WINDOWS_FAMILY_COUNT];
  size_t count = find_patches(&module->image, patches), which = 0;
  if (count == 0) return;
  enum lm_patch_result result = LM_PATCH_DONE;
  if (!lm_redirect_options.tables)
    result = lm_patch_all(&module->image, patches, count, module->has_begun,
                          lm_redirect_options.anyway, &which);
  if (result == LM_PATCH_NOT_AS_IN_FILE) {
    say_of_runtime(module, patches[which].name, reason_of(result),
        "; the runtime is left alone (LOAM_REDIRECT=anyway puts loam over it)");
    return;
  }
  if (result != LM_PATCH_DONE)
    say_of_runtime(module, patches[which].name, reason_of(result),
        "; tables of imports and exports lead to loam instead");
  if (result != LM_PATCH_DONE || lm_redirect_options.tables) redirect_by_tables(module);
}

static void keep_errno(const struct lm_module *module) {
  const DWORD *entry = lm_image_export(&module->image, "_errno");
  if (entry != NULL && (lm_runtime_errno == NULL || lm_module_is_called(module, runtimes[0])))
    lm_runtime_errno = (int *(*)(void))(uintptr_t)(module->image.base + *entry);
}

void lm_runtime_redirect(const struct lm_module *module) {
  const size_t debug_count = sizeof debug_runtimes / sizeof *debug_runtimes;
  if (is_called_one_of(module, debug_runtimes, debug_count))
    say_of_runtime(module, NULL, " is for debugging",
                   " and is left alone: its malloc is not loam's");
  if (!lm_is_runtime(module)) return;
  keep_errno(module);
  redirect_all(module);
}
