#include "redirect/modules_windows.h"

#include <winternl.h>

PPEB NTAPI RtlGetCurrentPeb(void);

/* The loader's record of a module, as far as it is the same in all versions since Windows 7. */
struct loader_entry {
  LIST_ENTRY in_load_order, in_memory_order, in_initialization_order;
  void *base, *entry_point;
  ULONG bytes;
  UNICODE_STRING path, name;
  ULONG flags;
};
#define PROCESS_ATTACH_CALLED 0x80000u

/* Windows' own folder: of system32 as of the folders side by side (WinSxS). */
static bool is_in_windows(const UNICODE_STRING *path) {
  wchar_t folder[MAX_PATH];
  UINT length = GetWindowsDirectoryW(folder, MAX_PATH);
  return length != 0 && length < MAX_PATH && path->Length / sizeof(wchar_t) > length &&
         CompareStringOrdinal(folder, (int)length, path->Buffer, (int)length, TRUE) == CSTR_EQUAL;
}

static bool describe(void *base, const UNICODE_STRING *path, const UNICODE_STRING *name,
                     struct lm_module *module) {
  module->name = name->Buffer;
  module->length = name->Length / sizeof(wchar_t);
  module->is_systems = is_in_windows(path);
  bool is_read = lm_image_read(base, &module->image);
  module->image.path = path->Buffer;
  return is_read;
}

void lm_modules_visit(lm_module_visitor *visit, void *context) {
  LIST_ENTRY *memory_order = &RtlGetCurrentPeb()->Ldr->InMemoryOrderModuleList;
  LIST_ENTRY *head = memory_order - 1; /* in load order: it stands before */
  for (LIST_ENTRY *link = head->Flink; link != head; link = link->Flink) {
    const struct loader_entry *entry = CONTAINING_RECORD(link, struct loader_entry, in_load_order);
    struct lm_module module = {.has_begun = (entry->flags & PROCESS_ATTACH_CALLED) != 0};
    if (describe(entry->base, &entry->path, &entry->name, &module)) visit(context, &module);
  }
}

bool lm_module_is_called(const struct lm_module *module, const char *name) {
  size_t i = 0;
  for (; i < module->length && name[i] != 0; i++) {
    wchar_t c = module->name[i];
    if (c >= 'A' && c <= 'Z') c = (wchar_t)(c + 'a' - 'A');
    if (c != (wchar_t)name[i]) return false;
  }
  return i == module->length && name[i] == 0;
}

/* What is not ASCII, and would not do in any console, as a question mark. */
void lm_text_module(struct lm_text *text, const struct lm_module *module) {
  for (size_t i = 0; i < module->length; i++)
    lm_text_char(text, module->name[i] < 128 ? (char)module->name[i] : '?');
}

/* ---- What is loaded later: documented by Microsoft, and in no header ---- */

struct notice {
  ULONG flags;
  const UNICODE_STRING *path, *name;
  void *base;
  ULONG bytes;
};
typedef LONG NTAPI register_function(ULONG flags,
                                     void NTAPI (*notify)(ULONG, const struct notice *, void *),
                                     void *context, void **cookie);
#define IS_LOADED 1

static void (*loaded_callback)(const struct lm_module *module);

static void NTAPI notify(ULONG reason, const struct notice *notice, void *context) {
  struct lm_module module = {.has_begun = false};
  (void)context;
  if (reason == IS_LOADED && describe(notice->base, notice->path, notice->name, &module))
    loaded_callback(&module);
}

void lm_modules_watch(void (*loaded)(const struct lm_module *module)) {
  void *cookie;
  register_function *watch = (register_function *)(uintptr_t)GetProcAddress(
      GetModuleHandleW(L"ntdll.dll"), "LdrRegisterDllNotification");
  loaded_callback = loaded;
  if (watch != NULL) watch(0, notify, NULL, &cookie);
}
