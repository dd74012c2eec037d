/* What a C runtime would bring: the library has none, so that none begins before it. Of ntdll come
 * memcpy and its like. */
#include <stdio.h>

#include "redirect/runtimes_windows.h"

/* ---- Thread-local variables, as the loader makes them; .tls$LOAM stands between ---- */

ULONG _tls_index;
/* Not 0, which would put them apart from variables that have a value in the file. */
__attribute__((section(".tls"), used)) char lm_tls_start = 1;
__attribute__((section(".tls$ZZZ"), used)) char lm_tls_end = 1;
__attribute__((section(".CRT$XLA"), used)) const PIMAGE_TLS_CALLBACK lm_callbacks_start = 0;
__attribute__((section(".CRT$XLZ"), used)) const PIMAGE_TLS_CALLBACK lm_callbacks_end = 0;
extern const IMAGE_TLS_DIRECTORY _tls_used;
__attribute__((used)) const IMAGE_TLS_DIRECTORY _tls_used = {
    (ULONG_PTR)&lm_tls_start, (ULONG_PTR)&lm_tls_end, (ULONG_PTR)&_tls_index,
    (ULONG_PTR)(&lm_callbacks_start + 1), 0, 0};

/* ---- errno, which is a runtime's ---- */

/* One that has been unloaded since does not have it any more. */
static int *own_errno(void) {
  static int nobodys;
  HMODULE module;
  if (lm_runtime_errno == NULL ||
      !GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                              GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                          (LPCWSTR)(uintptr_t)lm_runtime_errno, &module))
    return &nobodys;
  return lm_runtime_errno();
}
extern int *(*const lm_import_errno)(void) __asm__("__imp__errno");
__attribute__((used)) int *(*const lm_import_errno)(void) = own_errno;

/* For loam_malloc_info, which the library does not export: streams are a runtime's. */
size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream) {
  (void)bytes, (void)size, (void)stream;
  return count;
}
