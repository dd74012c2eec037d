#include "redirect/children_windows.h"

#include "os/os.h"
#include "redirect/inject_windows.h"
#include "redirect/tables_windows.h"

static __typeof__(&CreateProcessW) create_w;
static __typeof__(&CreateProcessA) create_a;
static wchar_t own_path[1024];

static void say_of_child(const char *reason) {
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: a process runs without loam: ");
  lm_text_string(&text, reason);
  lm_text_char(&text, '\n');
  lm_os_write(2, text.bytes, text.length);
}

/* A process that has just been made, and waits. */
static void take_along(const PROCESS_INFORMATION *made, DWORD flags) {
  DWORD last_error = GetLastError();
  const char *reason = lm_inject(made->hProcess, own_path);
  if (reason != NULL) say_of_child(reason);
  if (!(flags & CREATE_SUSPENDED)) ResumeThread(made->hThread);
  SetLastError(last_error);
}

/* CreateProcessW or CreateProcessA, called by `create`: the process waits until loam is in it. */
#define CREATE_PROCESS(name, create, CONST_TEXT, TEXT, START) \
  static BOOL WINAPI name(CONST_TEXT program, TEXT command, LPSECURITY_ATTRIBUTES process, \
                          LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags, \
                          LPVOID environment, CONST_TEXT folder, START start, \
                          LPPROCESS_INFORMATION made) { \
    BOOL done = create(program, command, process, thread, inherit, flags | CREATE_SUSPENDED, \
                       environment, folder, start, made); \
    if (done) take_along(made, flags); \
    return done; \
  }
CREATE_PROCESS(create_process_w, create_w, LPCWSTR, LPWSTR, LPSTARTUPINFOW)
CREATE_PROCESS(create_process_a, create_a, LPCSTR, LPSTR, LPSTARTUPINFOA)

/* kernel32's leads to kernelbase's, which does it: that is called. */
void lm_children_follow(void) {
  static const wchar_t *const exporters[] = {L"kernelbase.dll", L"kernel32.dll"};
  GetModuleFileNameW((HMODULE)(void *)lm_own_base, own_path, 1023);
  for (size_t i = 0; i < 2; i++) {
    struct lm_image image;
    if (!lm_image_read(GetModuleHandleW(exporters[i]), &image)) continue;
    if (create_w == NULL) {
      create_w = (__typeof__(create_w))(uintptr_t)GetProcAddress((HMODULE)image.base,
                                                                 "CreateProcessW");
      create_a = (__typeof__(create_a))(uintptr_t)GetProcAddress((HMODULE)image.base,
                                                                 "CreateProcessA");
    }
    lm_tables_lead(&image, "CreateProcessW", (void *)(uintptr_t)create_process_w);
    lm_tables_lead(&image, "CreateProcessA", (void *)(uintptr_t)create_process_a);
  }
}
