// loam: yes
/* A library with loam inside, for itself. */
#include <loam/loam.h>

__declspec(dllexport) void *holder_take(size_t size) { return loam_malloc(size); }
__declspec(dllexport) void holder_give(void *block) { loam_free(block); }
