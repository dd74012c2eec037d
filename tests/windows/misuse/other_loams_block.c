// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of a block of the loam that a library has for itself */
#include "../../misuse/crime.h"
#include <windows.h>

int main(void) {
  HMODULE library = LoadLibraryA("holder.dll");
  CHECK(library != NULL);
  void *(*take)(size_t) = (void *(*)(size_t))(uintptr_t)GetProcAddress(library, "holder_take");
  free(announce(take(100)));
  return 0;
}
