/* first.exe tool|none [LIBRARY]: another tool has put a jump over malloc and free before the library
 * is loaded. Says on standard output whose malloc it is. Another runtime may be loaded then, whose
 * malloc must be loam's, if it has one. */
#include "redirect.h"

static void *tools_malloc(size_t size) { return HeapAlloc(GetProcessHeap(), 0, size); }
static void tools_free(void *block) { HeapFree(GetProcessHeap(), 0, block); }

/* mov rax, to; jmp rax */
static void put_jump(const char *name, void *to) {
  unsigned char *from = (unsigned char *)(uintptr_t)GetProcAddress(GetModuleHandleA("ucrtbase"),
                                                                  name);
  DWORD protection;
  CHECK(VirtualProtect(from, 12, PAGE_EXECUTE_READWRITE, &protection));
  memcpy(from, "\x48\xb8", 2);
  memcpy(from + 2, &to, sizeof to);
  memcpy(from + 10, "\xff\xe0", 2);
  CHECK(VirtualProtect(from, 12, protection, &protection));
}

static void load(const char *path) {
  HMODULE runtime = LoadLibraryA(path);
  CHECK(runtime != NULL);
  void *(*take)(size_t) = (void *(*)(size_t))(uintptr_t)GetProcAddress(runtime, "malloc");
  void (*give)(void *) = (void (*)(void *))(uintptr_t)GetProcAddress(runtime, "free");
  find_loam();
  if (take != NULL) give(own(take(100)));
}

int main(int count, char **arguments) {
  CHECK(count > 1);
  if (strcmp(arguments[1], "tool") == 0) {
    put_jump("malloc", (void *)(uintptr_t)tools_malloc);
    put_jump("free", (void *)(uintptr_t)tools_free);
  }
  CHECK(LoadLibraryA("loam-redirect.dll") != NULL);
  if (count > 2) load(arguments[2]);
  void *block = malloc(100);
  const char *whose = HeapValidate(GetProcessHeap(), 0, block) ? "tool"
                      : is_runtimes(block)                     ? "runtime"
                                                               : "loam";
  DWORD written;
  WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), whose, (DWORD)strlen(whose), &written, NULL);
  free(block);
  ExitProcess(0); /* without the runtime, of whose parts half are the tool's */
}
