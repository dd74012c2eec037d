#include "redirect/inject_windows.h"

#include <string.h>
#include <winternl.h>

#include "base/bits.h"

/* The same bitness and processor as this code: all else has another kind of headers. */
struct program {
  HANDLE process;
  char *base;
  char *headers_at;
  IMAGE_NT_HEADERS headers;
};

#define IMPORTS IMAGE_DIRECTORY_ENTRY_IMPORT
#define DESCRIPTORS_MAX 1024
#define PATH_BYTES 1024

/* What is put into the process: the program's imports, and this one before them. */
struct added {
  IMAGE_THUNK_DATA names[2], slots[2];
  char library[PATH_BYTES];
  IMAGE_IMPORT_DESCRIPTOR descriptors[1]; /* as many as there are, and one that ends them */
};

static bool read_memory(const struct program *program, const void *from, void *to, size_t size) {
  SIZE_T read = 0;
  return ReadProcessMemory(program->process, from, to, size, &read) && read == size;
}

static bool write_memory(const struct program *program, void *to, const void *from, size_t size) {
  SIZE_T written = 0;
  DWORD protection, ignored;
  if (!VirtualProtectEx(program->process, to, size, PAGE_READWRITE, &protection)) return false;
  bool done = WriteProcessMemory(program->process, to, from, size, &written) && written == size;
  VirtualProtectEx(program->process, to, size, protection, &ignored);
  return done;
}

typedef LONG NTAPI query_function(HANDLE process, int what, void *result, ULONG size,
                                  ULONG *length);

static const char *find_program(HANDLE process, struct program *program) {
  static const char cannot_be_read[] = "its memory cannot be read";
  PROCESS_BASIC_INFORMATION basic;
  IMAGE_DOS_HEADER dos;
  BOOL is_32_bit = FALSE;
  program->process = process;
  if (IsWow64Process(process, &is_32_bit) && is_32_bit) return "it is a 32-bit program";
  query_function *query = (query_function *)(uintptr_t)GetProcAddress(
      GetModuleHandleW(L"ntdll.dll"), "NtQueryInformationProcess");
  if (query == NULL || query(process, ProcessBasicInformation, &basic, sizeof basic, NULL) < 0)
    return cannot_be_read;
  /* The environment block's word for the program's base, in all 64-bit Windows. */
  if (!read_memory(program, (char *)basic.PebBaseAddress + 16, &program->base, sizeof(void *)) ||
      !read_memory(program, program->base, &dos, sizeof dos))
    return cannot_be_read;
  program->headers_at = program->base + dos.e_lfanew;
  if (!read_memory(program, program->headers_at, &program->headers, sizeof program->headers))
    return cannot_be_read;
  IMAGE_DOS_HEADER *own = (IMAGE_DOS_HEADER *)(void *)GetModuleHandleW(NULL);
  const IMAGE_NT_HEADERS *own_headers = (const void *)((char *)own + own->e_lfanew);
  if (program->headers.FileHeader.Machine != own_headers->FileHeader.Machine)
    return "it is for another processor";
  const IMAGE_DATA_DIRECTORY *tables = program->headers.OptionalHeader.DataDirectory;
  if (tables[IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR].Size != 0) return "it is a program for .NET";
  return NULL;
}

/* How many descriptors of imports it has, without the one that ends them. */
static size_t read_descriptors(const struct program *program,
                               IMAGE_IMPORT_DESCRIPTOR *descriptors) {
  DWORD table = program->headers.OptionalHeader.DataDirectory[IMPORTS].VirtualAddress;
  size_t count = 0;
  if (table == 0) return 0;
  while (count < DESCRIPTORS_MAX &&
         read_memory(program, program->base + table + count * sizeof *descriptors,
                     &descriptors[count], sizeof *descriptors) &&
         descriptors[count].Name != 0)
    count++;
  return count;
}

/* Tables hold distances from the program's start, of 32 bits: so above it, and near. */
static char *take_above(const struct program *program, size_t size) {
  MEMORY_BASIC_INFORMATION info;
  const uintptr_t step = 64 * LM_KIB;
  uintptr_t base = (uintptr_t)program->base;
  uintptr_t place = lm_align_up(base + program->headers.OptionalHeader.SizeOfImage, step);
  while (place - base < UINT32_MAX - 2 * size &&
         VirtualQueryEx(program->process, (void *)place, &info, sizeof info) == sizeof info) {
    char *taken = NULL;
    if (info.State == MEM_FREE)
      taken = VirtualAllocEx(program->process, (void *)place, size, MEM_RESERVE | MEM_COMMIT,
                             PAGE_READWRITE);
    if (taken != NULL) return taken;
    place = lm_align_up((uintptr_t)info.BaseAddress + info.RegionSize, step);
  }
  return NULL;
}

/* A path as the loader reads it in a table of imports: in the system's code page. */
static bool narrow(const wchar_t *path, char *narrowed) {
  wchar_t short_path[PATH_BYTES];
  BOOL is_changed = FALSE;
  int length = WideCharToMultiByte(CP_ACP, WC_NO_BEST_FIT_CHARS, path, -1, narrowed, PATH_BYTES,
                                   NULL, &is_changed);
  if (length != 0 && !is_changed) return true;
  DWORD found = GetShortPathNameW(path, short_path, PATH_BYTES);
  return found != 0 && found < PATH_BYTES &&
         WideCharToMultiByte(CP_ACP, WC_NO_BEST_FIT_CHARS, short_path, -1, narrowed, PATH_BYTES,
                             NULL, &is_changed) != 0 &&
         !is_changed;
}

static void fill(struct added *added, uint32_t distance) {
  const IMAGE_IMPORT_DESCRIPTOR own = {
      .OriginalFirstThunk = distance + (uint32_t)offsetof(struct added, names),
      .Name = distance + (uint32_t)offsetof(struct added, library),
      .FirstThunk = distance + (uint32_t)offsetof(struct added, slots),
  };
  added->descriptors[0] = own;
  added->names[0].u1.Ordinal = IMAGE_ORDINAL_FLAG | 1;
  added->slots[0] = added->names[0];
}

static bool change_headers(struct program *program, uint32_t table, uint32_t size) {
  IMAGE_DATA_DIRECTORY *tables = program->headers.OptionalHeader.DataDirectory;
  tables[IMPORTS] = (IMAGE_DATA_DIRECTORY){table, size};
  /* Addresses that the linker knew in advance would be believed without looking. */
  tables[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT] = (IMAGE_DATA_DIRECTORY){0, 0};
  return write_memory(program, program->headers_at, &program->headers, sizeof program->headers);
}

const char *lm_inject(HANDLE process, const wchar_t *library) {
  struct program program;
  const char *reason = find_program(process, &program);
  if (reason != NULL) return reason;
  const size_t size = sizeof(struct added) + DESCRIPTORS_MAX * sizeof(IMAGE_IMPORT_DESCRIPTOR);
  struct added *added = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (added == NULL) return "there is no memory";
  size_t count = read_descriptors(&program, added->descriptors + 1);
  char *place = take_above(&program, size);
  reason = "its imports cannot be changed";
  if (GetFileAttributesW(library) == INVALID_FILE_ATTRIBUTES)
    reason = "loam-redirect.dll is missing";
  else if (!narrow(library, added->library))
    reason = "the path of loam-redirect.dll has other letters than this system's code page";
  else if (place != NULL && count < DESCRIPTORS_MAX) {
    uint32_t distance = (uint32_t)(place - program.base);
    uint32_t table_bytes = (uint32_t)((count + 2) * sizeof(IMAGE_IMPORT_DESCRIPTOR));
    fill(added, distance);
    if (write_memory(&program, place, added, size) &&
        change_headers(&program, distance + (uint32_t)offsetof(struct added, descriptors),
                       table_bytes))
      reason = NULL;
  }
  VirtualFree(added, 0, MEM_RELEASE);
  return reason;
}
