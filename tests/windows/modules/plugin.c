/* A library with the C runtime's malloc, as most have. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

__declspec(dllexport) void *plugin_text(const char *text) { return _strdup(text); }
__declspec(dllexport) void *plugin_aligned(size_t size, size_t alignment) {
  return _aligned_malloc(size, alignment);
}
