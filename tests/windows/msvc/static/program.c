/* Ends with 0 if all that the static runtime gives is loam's, and with 20 if all is the runtime's. */
#include <malloc.h>
#include <windows.h>

void *_malloc_base(size_t size);
void *_calloc_base(size_t count, size_t size);
void *_realloc_base(void *block, size_t size);
void _free_base(void *block);
void *operator_new(size_t size) __asm__("??2@YAPEAX_K@Z");
void operator_delete(void *block) __asm__("??3@YAXPEAX@Z");
int atexit(void (*function)(void));
char *_strdup(const char *text);

static int loams, runtimes;

static void *seen(void *block) {
  if (block == 0) ExitProcess(11);
  if (HeapValidate((HANDLE)_get_heap_handle(), 0, block)) runtimes++;
  else loams++;
  return block;
}

static void called(void) {}

static DWORD WINAPI work(void *nothing) {
  for (int i = 0; i < 20000; i++) free(realloc(malloc(16 + i % 900), 16 + i % 1700));
  return 0;
}

int main(void) {
  HANDLE threads[4];
  for (int i = 0; i < 40; i++) atexit(called);
  char *block = seen(malloc(100));
  if (_msize(block) < 100 || _expand(block, 50) != block) ExitProcess(12);
  free(seen(realloc(block, 5000)));
  block = seen(_recalloc(seen(calloc(3, 70)), 9, 70));
  for (int i = 0; i < 630; i++)
    if (block[i] != 0) ExitProcess(13);
  free(block);
  _free_base(seen(_realloc_base(seen(_malloc_base(10)), 100)));
  free(seen(_calloc_base(2, 10)));
  free(seen(_strdup("text")));
  operator_delete(seen(operator_new(40)));
  block = _aligned_malloc(100, 256);
  if ((size_t)block % 256 != 0) ExitProcess(14);
  _aligned_free(block);
  for (int i = 0; i < 4; i++) threads[i] = CreateThread(0, 0, work, 0, 0, 0);
  if (WaitForMultipleObjects(4, threads, TRUE, 60000) != WAIT_OBJECT_0) ExitProcess(15);
  return runtimes == 0 ? 0 : loams == 0 ? 20 : 21;
}
