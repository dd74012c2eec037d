/*
 * pairs: for counting the instructions of one malloc and one free.
 *
 *   pairs COUNT LIVE [bytes 32]
 *
 * COUNT times frees the oldest of LIVE blocks and allocates one. The two calls stand in functions
 * of their own, so that a profiler tells them apart.
 */
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline)) static void call_malloc(size_t size)
{
    sink = malloc(size);
}

__attribute__((noinline)) static void call_free(void *block)
{
    free(block);
    sink = NULL;
}

int main(int argc, char **argv)
{
    static void *blocks[4096];
    if (argc < 3)
        return 64;
    long count = atol(argv[1]), live = atol(argv[2]);
    size_t size = argc > 3 ? (size_t)atol(argv[3]) : 32;
    if (live < 1 || live > 4096)
        return 64;
    for (long i = 0; i < count; i++) {
        call_free(blocks[i % live]);
        call_malloc(size);
        blocks[i % live] = sink;
    }
    printf("%ld pairs\n", count);
    return 0;
}
