/* A program with a malloc of its own on the system's heap, as the runtime's static library is. */
#include <windows.h>

void start(void);
void start(void) {
  char *block = HeapAlloc(GetProcessHeap(), 0, 100);
  block = HeapReAlloc(GetProcessHeap(), 0, block, 200);
  if (HeapSize(GetProcessHeap(), 0, block) != 200) ExitProcess(5);
  HeapFree(GetProcessHeap(), 0, block);
  ExitProcess(0);
}
