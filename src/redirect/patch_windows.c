#include "redirect/patch_windows.h"

#include <string.h>

#include "redirect/jump.h"
#include "redirect/others_windows.h"
#include "redirect/relay_windows.h"

#define PATCHES_MAX 64
/* So that the system keeps what it knows of valid targets of calls (Control Flow Guard). */
#if !defined(PAGE_TARGETS_NO_UPDATE)
#define PAGE_TARGETS_NO_UPDATE 0x40000000
#endif

static size_t jump_bytes(void) { return lm_near_jump_bytes(LM_THIS_PROCESSOR); }

static enum lm_patch_result check(const struct lm_image *image, const struct lm_patch *patch,
                                  bool anyway) {
  if (!lm_image_is_code(image, patch->function, jump_bytes()) ||
      lm_image_function_begins_in(image, patch->function, jump_bytes()))
    return LM_PATCH_TOO_SHORT;
  if (!anyway && !lm_image_is_as_in_file(image, patch->function, jump_bytes()))
    return LM_PATCH_NOT_AS_IN_FILE;
  return lm_relay_near(patch->function, patch->replacement) != NULL ? LM_PATCH_DONE
                                                                    : LM_PATCH_NO_RELAY;
}

/* ---- Protection ---- */

static bool make_writable(char *function, DWORD *before) {
  const DWORD wanted = PAGE_EXECUTE_READWRITE;
  return VirtualProtect(function, jump_bytes(), wanted | PAGE_TARGETS_NO_UPDATE, before) ||
         VirtualProtect(function, jump_bytes(), wanted, before);
}

static void protect_again(char *function, DWORD before) {
  DWORD ignored;
  if (!VirtualProtect(function, jump_bytes(), before | PAGE_TARGETS_NO_UPDATE, &ignored))
    VirtualProtect(function, jump_bytes(), before, &ignored);
}

/* Several functions may be in one page: what it was before is what the first of them has found, so
 * they are protected again in the opposite order. */
static bool make_all_writable(const struct lm_patch *patches, size_t count, DWORD *before) {
  for (size_t i = 0; i < count; i++) {
    if (make_writable(patches[i].function, &before[i])) continue;
    while (i-- > 0) protect_again(patches[i].function, before[i]);
    return false;
  }
  return true;
}

/* ---- Writing ---- */

struct places {
  const struct lm_patch *patches;
  size_t count;
};

/* At a function's first byte a thread may be: it finds the old instruction or the jump. */
static bool is_inside(void *context, uintptr_t instruction) {
  const struct places *places = context;
  for (size_t i = 0; i < places->count; i++) {
    size_t distance = instruction - (uintptr_t)places->patches[i].function;
    if (distance > 0 && distance < jump_bytes()) return true;
  }
  return false;
}

static void write_jump(const struct lm_patch *patch) {
  uint8_t jump[LM_NEAR_JUMP_MAX_BYTES];
  void *to = lm_relay_near(patch->function, patch->replacement);
  lm_near_jump_write(LM_THIS_PROCESSOR, (uintptr_t)patch->function, (uintptr_t)to, jump);
  memcpy(patch->function, jump, jump_bytes());
  FlushInstructionCache(GetCurrentProcess(), patch->function, jump_bytes());
}

enum lm_patch_result lm_patch_all(const struct lm_image *image, const struct lm_patch *patches,
                                  size_t count, bool has_begun, bool anyway, size_t *which) {
  struct places places = {patches, count};
  struct lm_others others;
  DWORD before[PATCHES_MAX];
  for (*which = 0; *which < count; ++*which) {
    enum lm_patch_result result = check(image, &patches[*which], anyway);
    if (result != LM_PATCH_DONE) return result;
  }
  *which = 0;
  if (has_begun && !lm_others_stop(&others, is_inside, &places)) return LM_PATCH_IN_USE;
  bool writable = make_all_writable(patches, count, before);
  for (size_t i = 0; writable && i < count; i++) write_jump(&patches[i]);
  for (size_t i = count; writable && i-- > 0;) protect_again(patches[i].function, before[i]);
  if (has_begun) lm_others_go(&others);
  return writable ? LM_PATCH_DONE : LM_PATCH_PROTECTED;
}
