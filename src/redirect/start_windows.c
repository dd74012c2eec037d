/* loam-redirect.dll begins and ends. */
#include "os/os.h"
#include "redirect/children_windows.h"
#include "redirect/modules_windows.h"
#include "redirect/options_windows.h"
#include "redirect/proof_windows.h"
#include "redirect/runtimes_windows.h"

/* What the compiler keeps for a C runtime to call: here nobody else does. */
typedef void initializer(void);
extern initializer *lm_constructors[] __asm__("__CTOR_LIST__");
extern initializer *lm_destructors[] __asm__("__DTOR_LIST__");

static void call_all(initializer **list) {
  for (size_t i = 1; list[i] != NULL; i++) list[i](); /* the first is no function */
}

/* ---- Another loam, and a runtime that was earlier ---- */

/* Not set where another loam serves. Written once, by the loader. */
static bool serves;

struct found {
  char host[128]; /* who has loam, too, and was first; empty: nobody */
  bool is_late;   /* a runtime has begun */
};

static void look_for_loam(void *context, const struct lm_module *module) {
  struct found *found = context;
  struct lm_text host = {found->host, sizeof found->host - 1, 0};
  if (module->image.base == lm_own_base) return;
  if (lm_is_runtime(module) && module->has_begun) found->is_late = true;
  if (found->host[0] == 0 && lm_image_has_section(&module->image, ".loam"))
    lm_text_module(&host, module);
}

static void say_of_library(const char *before, const char *module, const char *after) {
  LM_TEXT(text, 256);
  lm_text_string(&text, before);
  lm_text_string(&text, module);
  lm_text_string(&text, after);
  lm_os_write(2, text.bytes, text.length);
}

static void redirect_module(void *context, const struct lm_module *module) {
  (void)context;
  lm_runtime_redirect(module);
}

/* `at_start`: with the program, not by LoadLibrary. */
static void begin(bool at_start) {
  struct found found = {{0}, false};
  HMODULE own;
  /* Threads, and tables of imports, may lead to its code for ever. */
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     (LPCWSTR)(void *)lm_own_base, &own);
  lm_redirect_options_read();
  if (lm_redirect_options.children) lm_children_follow();
  lm_modules_visit(look_for_loam, &found);
  if (found.host[0] != 0) {
    say_of_library("loam: ", found.host,
                   " has loam inside, which serves: loam-redirect.dll stands back\n");
    return;
  }
  call_all(lm_constructors);
  if (at_start && found.is_late)
    say_of_library("loam: loam-redirect.dll", "",
                   " is not first: blocks that a C runtime gave out by now stay its own\n");
  lm_modules_watch(lm_runtime_redirect);
  lm_modules_visit(redirect_module, NULL);
  serves = true;
}

BOOL WINAPI lm_redirect_entry(HINSTANCE module, DWORD reason, void *reserved);
BOOL WINAPI lm_redirect_entry(HINSTANCE module, DWORD reason, void *reserved) {
  (void)module;
  if (reason == DLL_PROCESS_ATTACH) begin(reserved != NULL);
  if (reason == DLL_PROCESS_DETACH) {
    lm_proof_write();
    if (serves) call_all(lm_destructors);
  }
  return TRUE;
}

/* What a program imports so that the library is loaded with it. */
int loam_redirect(void);
int loam_redirect(void) { return serves; }
