/*
 * who: prints the file whose malloc this program calls, after having called it and free.
 * Shows whether a preload took effect.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    Dl_info of_malloc, of_free;
    char *volatile block = malloc(100);
    if (!block)
        return 1;
    block[99] = 1;
    free(block);
    if (!dladdr((void *)malloc, &of_malloc) || !dladdr((void *)free, &of_free))
        return 1;
    printf("%s\n%s\n", of_malloc.dli_fname, of_free.dli_fname);
    return 0;
}
