/* Opened with RTLD_DEEPBIND: its malloc, strdup and free are those of the C library, as in
 * plugins whose hosts isolate them. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *libc_malloc(size_t size) { return malloc(size); }
void *libc_aligned(size_t alignment, size_t size) { return memalign(alignment, size); }
char *libc_strdup(const char *text) { return strdup(text); }
void libc_free(void *block) { free(block); }
