/* Linked as MSVC's programs are, with the library among its imports: if it is the first, all blocks
 * are loam's, those that the runtime's own start takes, too. */
#include <malloc.h>
#include <windows.h>

__declspec(dllimport) int loam_redirect(void);
__declspec(dllimport) size_t loam_malloc_usable_size(void *block);

void start(void);
void start(void) {
  char *block = malloc(100);
  if (block == NULL || !loam_redirect()) ExitProcess(11);
  if (HeapValidate((HANDLE)_get_heap_handle(), 0, block)) ExitProcess(12);
  if (_msize(block) != loam_malloc_usable_size(block)) ExitProcess(13);
  free(block);
  ExitProcess(0);
}
