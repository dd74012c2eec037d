/* A C runtime as a static library, of the shape that the UCRT's has: the same names in the same
 * members, which take their memory from a heap of the system's. Each member is this file, compiled
 * with MEMBER_name. What a linker takes it for shows in its map. */
#include <stddef.h>
#include <stdint.h>
#include <windows.h>

extern HANDLE __acrt_heap;
void *_malloc_base(size_t size);
void *_calloc_base(size_t count, size_t size);
void *_realloc_base(void *block, size_t size);
void *_recalloc_base(void *block, size_t count, size_t size);
void _free_base(void *block);
size_t _msize_base(void *block);
void *_expand_base(void *block, size_t size);
void *malloc(size_t size);
void free(void *block);
int main(void);

#if defined(MEMBER_startup)
#include "../tls.h"
typedef void function(void);
__attribute__((section(".CRT$XCA"))) function *const begin_first = 0;
__attribute__((section(".CRT$XCZ"))) function *const begin_last = 0;
__attribute__((section(".CRT$XTA"))) function *const end_first = 0;
__attribute__((section(".CRT$XTZ"))) function *const end_last = 0;

static void call_all(function *const volatile *from, function *const *to) {
  for (; from < to; from++)
    if (*from != 0) (*from)();
}

/* The table of atexit: it begins before main, and grows. */
static function **table;
static size_t count, capacity;
int atexit(function *called);
int atexit(function *called) {
  if (count == capacity) {
    function **larger = table == 0 ? _calloc_base(4, sizeof *table)
                                   : _recalloc_base(table, capacity + 4, sizeof *table);
    if (larger == 0) return 1;
    table = larger;
    capacity += 4;
  }
  table[count++] = called;
  return 0;
}

void mainCRTStartup(void);
void mainCRTStartup(void) {
  __acrt_heap = HeapCreate(0, 0, 0);
  call_all(&begin_first, &begin_last);
  int status = main();
  while (count > 0) table[--count]();
  _free_base(table);
  call_all(&end_first, &end_last);
  ExitProcess((UINT)status);
}
#elif defined(MEMBER_heap_handle)
HANDLE __acrt_heap;
intptr_t _get_heap_handle(void);
intptr_t _get_heap_handle(void) { return (intptr_t)__acrt_heap; }
#elif defined(MEMBER_malloc)
void *malloc(size_t size) { return _malloc_base(size); }
#elif defined(MEMBER_malloc_base)
void *_malloc_base(size_t size) { return HeapAlloc(__acrt_heap, 0, size); }
#elif defined(MEMBER_calloc)
void *calloc(size_t count, size_t size) { return _calloc_base(count, size); }
#elif defined(MEMBER_calloc_base)
void *_calloc_base(size_t count, size_t size) {
  return HeapAlloc(__acrt_heap, HEAP_ZERO_MEMORY, count * size);
}
#elif defined(MEMBER_realloc)
void *realloc(void *block, size_t size) { return _realloc_base(block, size); }
#elif defined(MEMBER_realloc_base)
void *_realloc_base(void *block, size_t size) {
  return block == 0 ? malloc(size) : HeapReAlloc(__acrt_heap, 0, block, size);
}
#elif defined(MEMBER_recalloc)
void *_recalloc_base(void *block, size_t count, size_t size) {
  size_t before = _msize_base(block);
  char *result = _realloc_base(block, count * size);
  for (size_t i = before; i < count * size; i++) result[i] = 0;
  return result;
}
void *_recalloc(void *block, size_t count, size_t size) {
  return _recalloc_base(block, count, size);
}
#elif defined(MEMBER_free)
void free(void *block) { _free_base(block); }
#elif defined(MEMBER_free_base)
void _free_base(void *block) { HeapFree(__acrt_heap, 0, block); }
#elif defined(MEMBER_msize)
size_t _msize_base(void *block) { return HeapSize(__acrt_heap, 0, block); }
size_t _msize(void *block) { return _msize_base(block); }
#elif defined(MEMBER_expand)
void *_expand_base(void *block, size_t size) {
  return HeapReAlloc(__acrt_heap, HEAP_REALLOC_IN_PLACE_ONLY, block, size);
}
void *_expand(void *block, size_t size) { return _expand_base(block, size); }
#elif defined(MEMBER_align)
void *_aligned_offset_malloc(size_t size, size_t alignment, size_t offset) {
  char *start = malloc(size + alignment + sizeof start);
  uintptr_t place = ((uintptr_t)start + sizeof start + alignment + offset) / alignment * alignment;
  ((void **)(place - offset))[-1] = start;
  return (void *)(place - offset);
}
void *_aligned_malloc(size_t size, size_t alignment) {
  return _aligned_offset_malloc(size, alignment, 0);
}
void _aligned_free(void *block) {
  if (block != 0) free(((void **)block)[-1]);
}
#define NOT_HERE ExitProcess(99)
void *_aligned_realloc(void *block, size_t size, size_t alignment) { NOT_HERE; return 0; }
void *_aligned_recalloc(void *block, size_t count, size_t size, size_t a) { NOT_HERE; return 0; }
void *_aligned_offset_realloc(void *b, size_t s, size_t a, size_t o) { NOT_HERE; return 0; }
void *_aligned_offset_recalloc(void *b, size_t c, size_t s, size_t a, size_t o) {
  NOT_HERE;
  return 0;
}
size_t _aligned_msize(void *block, size_t alignment, size_t offset) { NOT_HERE; return 0; }
#elif defined(MEMBER_new)
void *operator_new(size_t size) __asm__("??2@YAPEAX_K@Z");
void *operator_new(size_t size) { return malloc(size); }
void operator_delete(void *block) __asm__("??3@YAXPEAX@Z");
void operator_delete(void *block) { free(block); }
#elif defined(MEMBER_strdup)
char *_strdup(const char *text) {
  size_t size = 0;
  while (text[size++] != 0) {
  }
  char *copy = malloc(size);
  for (size_t i = 0; i < size; i++) copy[i] = text[i];
  return copy;
}
#elif defined(MEMBER_errno)
static int number;
int *_errno(void) { return &number; }
#elif defined(MEMBER_stdio)
size_t fwrite(const void *bytes, size_t size, size_t count, void *file) { return 0; }
#elif defined(MEMBER_string)
void *memcpy(void *to, const void *from, size_t size) {
  for (volatile size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int byte, size_t size) {
  for (volatile size_t i = 0; i < size; i++) ((char *)to)[i] = (char)byte;
  return to;
}
size_t strlen(const char *text) {
  volatile size_t i = 0;
  while (text[i] != 0) i++;
  return i;
}
#elif defined(MEMBER_chkstk)
#include "../chkstk.h"
#endif
