#include "redirect/image_windows.h"

#include <string.h>

#include "redirect/jump.h"

/* What stands `distance` bytes from the module's start. */
static void *at(const struct lm_image *image, size_t distance) { return image->base + distance; }

bool lm_image_read(void *base, struct lm_image *image) {
  const IMAGE_DOS_HEADER *dos = base;
  if (dos == NULL || dos->e_magic != IMAGE_DOS_SIGNATURE) return false;
  image->base = base;
  image->path = NULL;
  image->headers = at(image, (size_t)dos->e_lfanew);
  return image->headers->Signature == IMAGE_NT_SIGNATURE &&
         image->headers->OptionalHeader.Magic == IMAGE_NT_OPTIONAL_HDR_MAGIC;
}

bool lm_image_holds(const struct lm_image *image, const void *address) {
  return (uintptr_t)address - (uintptr_t)image->base <
         image->headers->OptionalHeader.SizeOfImage;
}

/* A table of the module's, or NULL if it has none. */
static void *directory(const struct lm_image *image, unsigned index, size_t *bytes) {
  if (index >= image->headers->OptionalHeader.NumberOfRvaAndSizes) return NULL;
  IMAGE_DATA_DIRECTORY entry = image->headers->OptionalHeader.DataDirectory[index];
  *bytes = entry.Size;
  return entry.VirtualAddress != 0 && entry.Size != 0 ? at(image, entry.VirtualAddress) : NULL;
}

/* ---- Sections ---- */

static const IMAGE_SECTION_HEADER *section_of(const struct lm_image *image, size_t distance) {
  const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(image->headers);
  for (unsigned i = 0; i < image->headers->FileHeader.NumberOfSections; i++, section++)
    if (distance - section->VirtualAddress < section->Misc.VirtualSize) return section;
  return NULL;
}

bool lm_image_is_code(const struct lm_image *image, const char *address, size_t size) {
  size_t start = (size_t)(address - image->base);
  const IMAGE_SECTION_HEADER *section = section_of(image, start);
  return section != NULL && (section->Characteristics & IMAGE_SCN_MEM_EXECUTE) != 0 &&
         start + size <= section->VirtualAddress + (size_t)section->Misc.VirtualSize;
}

bool lm_image_has_section(const struct lm_image *image, const char *name) {
  const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(image->headers);
  for (unsigned i = 0; i < image->headers->FileHeader.NumberOfSections; i++, section++)
    if (strncmp((const char *)section->Name, name, sizeof section->Name) == 0) return true;
  return false;
}

/* ---- Exports and functions ---- */

DWORD *lm_image_export(const struct lm_image *image, const char *name) {
  size_t bytes = 0;
  const IMAGE_EXPORT_DIRECTORY *exports = directory(image, IMAGE_DIRECTORY_ENTRY_EXPORT, &bytes);
  if (exports == NULL) return NULL;
  const DWORD *names = at(image, exports->AddressOfNames);
  const WORD *numbers = at(image, exports->AddressOfNameOrdinals);
  size_t low = 0, high = exports->NumberOfNames; /* they are sorted */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, at(image, names[middle]));
    if (order == 0) {
      DWORD *entry = (DWORD *)at(image, exports->AddressOfFunctions) + numbers[middle];
      bool is_others = (char *)at(image, *entry) - (char *)(uintptr_t)exports < (ptrdiff_t)bytes &&
                       (char *)at(image, *entry) >= (char *)(uintptr_t)exports;
      return *entry != 0 && !is_others ? entry : NULL;
    }
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

bool lm_image_function_begins_in(const struct lm_image *image, const char *address, size_t size) {
  size_t start = (size_t)(address - image->base) + 1, end = start + size - 1, bytes = 0;
  const IMAGE_EXPORT_DIRECTORY *exports = directory(image, IMAGE_DIRECTORY_ENTRY_EXPORT, &bytes);
  if (exports != NULL) {
    const DWORD *functions = at(image, exports->AddressOfFunctions);
    for (DWORD i = 0; i < exports->NumberOfFunctions; i++)
      if (functions[i] >= start && functions[i] < end) return true;
  }
  /* Each begins with the distance of a function; on AArch64 they are shorter. */
  const DWORD *unwind = directory(image, IMAGE_DIRECTORY_ENTRY_EXCEPTION, &bytes);
  size_t words = LM_THIS_PROCESSOR == LM_X86_64 ? 3 : 2;
  for (size_t i = 0; unwind != NULL && (i + 1) * words * sizeof *unwind <= bytes; i++)
    if (unwind[i * words] >= start && unwind[i * words] < end) return true;
  return false;
}

/* ---- Imports ---- */

/* `names` and `slots` are two lists side by side that end with 0. */
static void visit_list(const struct lm_image *image, const char *library, size_t names,
                       size_t slots, bool is_delayed, lm_slot_visitor *visit, void *context) {
  const IMAGE_THUNK_DATA *name = at(image, names);
  void **slot = at(image, slots);
  for (; name->u1.AddressOfData != 0; name++, slot++) {
    if (IMAGE_SNAP_BY_ORDINAL(name->u1.Ordinal)) continue;
    const IMAGE_IMPORT_BY_NAME *by_name = at(image, (size_t)name->u1.AddressOfData);
    visit(context, library, (const char *)by_name->Name, slot, is_delayed);
  }
}

void lm_image_visit_slots(const struct lm_image *image, lm_slot_visitor *visit, void *context) {
  size_t bytes = 0;
  const IMAGE_IMPORT_DESCRIPTOR *import = directory(image, IMAGE_DIRECTORY_ENTRY_IMPORT, &bytes);
  for (; import != NULL && import->Name != 0 && import->FirstThunk != 0; import++)
    if (import->OriginalFirstThunk != 0) /* else the names are gone */
      visit_list(image, at(image, import->Name), import->OriginalFirstThunk, import->FirstThunk,
                 false, visit, context);
  const IMAGE_DELAYLOAD_DESCRIPTOR *delayed =
      directory(image, IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT, &bytes);
  for (; delayed != NULL && delayed->DllNameRVA != 0; delayed++)
    if (delayed->Attributes.RvaBased)
      visit_list(image, at(image, delayed->DllNameRVA), delayed->ImportNameTableRVA,
                 delayed->ImportAddressTableRVA, true, visit, context);
}

/* ---- The file ---- */

bool lm_image_is_as_in_file(const struct lm_image *image, const char *address, size_t size) {
  char bytes[64];
  size_t distance = (size_t)(address - image->base);
  const IMAGE_SECTION_HEADER *section = section_of(image, distance);
  DWORD read = 0;
  if (section == NULL || image->path == NULL || size > sizeof bytes) return false;
  HANDLE file = CreateFileW(image->path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                            OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return false;
  OVERLAPPED place = {
      .Offset = (DWORD)(distance - section->VirtualAddress + section->PointerToRawData)};
  bool is_read = ReadFile(file, bytes, (DWORD)size, &read, &place) && read == size;
  CloseHandle(file);
  return is_read && memcmp(bytes, address, size) == 0;
}
