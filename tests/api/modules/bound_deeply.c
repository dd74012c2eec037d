/* A module whose malloc and free are the C library's if it is opened with RTLD_DEEPBIND. */
#include <stdlib.h>

void *deep_take(size_t size);
void *deep_take(size_t size) { return malloc(size); }
void deep_give(void *block);
void deep_give(void *block) { free(block); }
