/* huge_pages=always and page_size: blocks stand in large pages, of 1 GiB where the system has them,
 * as long as there are any, and none is given back in part. Without the right to them a line says
 * so. The system's part is played by stand-ins, since wine has no large pages. */
#include "stand_in.h"

#if defined(_WIN64)
#include <io.h>

#define LARGE 0x20000000 /* MEM_LARGE_PAGES */
#define GIB ((size_t)1 << 30)
enum { RANGES = 64, FEW = 2 };

static struct range {
  char *start;
  size_t size;
} ranges[RANGES];
static LONG range_count, released_count;

static struct range *range_of(const void *address) {
  for (LONG i = 0; i < range_count; i++)
    if ((size_t)((const char *)address - ranges[i].start) < ranges[i].size) return &ranges[i];
  return NULL;
}

static void *note(void *start, size_t size, size_t page_bytes) {
  CHECK(start != NULL && (uintptr_t)start % page_bytes == 0 && size % page_bytes == 0);
  CHECK(range_count < RANGES);
  ranges[range_count] = (struct range){start, size};
  range_count++;
  return start;
}

/* Where a part of the test has few large pages, these are the last. */
static int are_spent(void) { return is_part("few") && range_count == FEW; }

static WINAPI void *allocate(void *address, SIZE_T size, DWORD kind, DWORD protection) {
  CHECK(address == NULL || range_of(address) == NULL);
  if ((kind & LARGE) == 0) return SYSTEM(VirtualAlloc)(address, size, kind, protection);
  CHECK_EQ(kind, MEM_RESERVE | MEM_COMMIT | LARGE);
  if (are_spent()) return NULL;
  void *start = SYSTEM(VirtualAlloc)(address, size, kind & ~(DWORD)LARGE, protection);
  return start != NULL ? note(start, size, 2 * MIB) : NULL;
}
STAND_IN(VirtualAlloc, allocate);

static WINAPI BOOL release(void *address, SIZE_T size, DWORD kind) {
  struct range *range = range_of(address);
  if (range != NULL) {
    CHECK_EQ(kind, MEM_RELEASE);
    CHECK(address == range->start);
    range->start = NULL;
    range->size = 0;
    released_count++;
  }
  return SYSTEM(VirtualFree)(address, size, kind);
}
STAND_IN(VirtualFree, release);

/* What loam looks for in ntdll and kernelbase it finds in this program. */
static WINAPI HMODULE find_module(const wchar_t *name) {
  return GetModuleHandleA(is_part("refused") ? "ntdll.dll" : name != NULL ? NULL : "");
}
STAND_IN(GetModuleHandleW, find_module);

__declspec(dllexport) LONG RtlAdjustPrivilege(ULONG privilege, BOOLEAN enable, BOOLEAN of_thread,
                                              BOOLEAN *was_enabled);
LONG RtlAdjustPrivilege(ULONG privilege, BOOLEAN enable, BOOLEAN of_thread, BOOLEAN *was_enabled) {
  CHECK(privilege == 4 && enable && !of_thread);
  *was_enabled = FALSE;
  return 0;
}

struct parameter {
  uint64_t type, value;
};
__declspec(dllexport) void *VirtualAlloc2(HANDLE process, void *address, SIZE_T size, ULONG kind,
                                          ULONG protection, struct parameter *parameters,
                                          ULONG count);
void *VirtualAlloc2(HANDLE process, void *address, SIZE_T size, ULONG kind, ULONG protection,
                    struct parameter *parameters, ULONG count) {
  CHECK(process == NULL && address == NULL && protection == PAGE_READWRITE && count == 2);
  CHECK_EQ(kind, MEM_RESERVE | MEM_COMMIT | LARGE);
  const uint64_t *place = (const uint64_t *)(uintptr_t)parameters[0].value;
  CHECK(parameters[0].type == 1 && place[0] == 0 && place[1] == 0 && place[2] == GIB);
  CHECK(parameters[1].type == 5 && parameters[1].value == 0x10);
  if (!is_part("gib")) return NULL;
  char *room = SYSTEM(VirtualAlloc)(NULL, size + GIB, MEM_RESERVE, PAGE_NOACCESS);
  char *start = (char *)(((uintptr_t)room + GIB - 1) & ~(uintptr_t)(GIB - 1));
  SYSTEM(VirtualFree)(room, 0, MEM_RELEASE);
  start = SYSTEM(VirtualAlloc)(start, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  return note(start, size, GIB);
}

/* ---- The parts ---- */

enum { BLOCKS = 40 };
static char *blocks[BLOCKS];
static size_t size_of(int i) { return i % 4 == 3 ? 20 * MIB : (size_t)(i + 1) * 3000; }

/* Takes blocks of all kinds, resizes and frees them, some times. */
static void use_blocks(void) {
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < BLOCKS; i++) {
      CHECK((blocks[i] = calloc(1, size_of(i))) != NULL);
      for (size_t at = 0; at < size_of(i); at += 4093) CHECK_EQ(blocks[i][at], 0);
      fill(blocks[i], 0, 1000, (unsigned)i);
      fill(blocks[i], size_of(i) - 100, size_of(i), (unsigned)i);
    }
    for (int i = 0; i < BLOCKS; i++) {
      CHECK((blocks[i] = realloc(blocks[i], size_of(i) * 2)) != NULL);
      check_filled(blocks[i], 0, 1000, (unsigned)i);
      check_filled(blocks[i], size_of(i) - 100, size_of(i), (unsigned)i);
      free(blocks[i]);
    }
    Sleep(300); /* time to purge, if anything were to be */
  }
}

static int be_part(void) {
  LONG at_start = range_count;
  use_blocks();
  void *small = malloc(100), *huge = malloc(70 * MIB);
  memset(huge, 1, 70 * MIB);
  struct range *range = range_of(huge);
  if (is_part("refused")) CHECK(at_start == 0 && range_count == 0);
  else CHECK(at_start != 0);
  if (is_part("all")) {
    CHECK(range_of(small) != NULL && range != NULL && range->start == huge);
    LONG released = released_count;
    free(huge);
    CHECK_EQ(released_count, released + 1);
  } else if (is_part("few")) {
    CHECK(range == NULL);
  } else if (is_part("gib")) {
    CHECK(range_of(small) != NULL && range_of(small)->size == GIB);
    CHECK(range != NULL && range->size == GIB);
  } else if (is_part("none of 1 GiB")) {
    CHECK(range_of(small) != NULL && range_of(small)->size < GIB);
  }
  return 0;
}

/* What a part says on standard error. */
static void check_line(const char *options, const char *line) {
  static char said[1024], path[64];
  snprintf(path, sizeof path, "large_pages_%lu.txt", (unsigned long)GetCurrentProcessId());
  int before = _dup(2), file = _open(path, _O_RDWR | _O_CREAT | _O_TRUNC, 0600);
  CHECK(before >= 0 && file >= 0);
  _dup2(file, 2);
  int status = run_part("refused", options);
  _dup2(before, 2);
  CHECK_EQ(status, 0);
  _lseek(file, 0, SEEK_SET);
  said[_read(file, said, sizeof said - 1)] = 0;
  _close(file);
  _unlink(path);
  if (strcmp(said, line) != 0) fprintf(stderr, "%s", said);
  CHECK(strcmp(said, line) == 0);
}

int main(int count, char **arguments) {
  static const char refused[] = "loam: small pages serve in the place of large ones: the user has "
                                "no right to lock pages in memory (SeLockMemoryPrivilege)\n";
  (void)arguments;
  if (strcmp(arguments[0], "again") == 0 && count == 1) return be_part();
  CHECK_EQ(run_part("all", "huge_pages=always,purge_delay_ms=100"), 0);
  CHECK_EQ(run_part("all", "page_size=2M,purge_delay_ms=100"), 0);
  CHECK_EQ(run_part("few", "huge_pages=always,purge_delay_ms=100"), 0);
  CHECK_EQ(run_part("gib", "page_size=1G,purge_delay_ms=100"), 0);
  CHECK_EQ(run_part("none of 1 GiB", "page_size=1G,purge_delay_ms=100"), 0);
  check_line("huge_pages=always", refused);
  check_line("page_size=1G", refused);
  check_line("huge_pages=madvise", "");
  return 0;
}

#else
int main(void) { return 77; }
#endif
