/*
 * simple: the pattern of glibc's bench-malloc-simple.
 *
 * Allocates some blocks of one size and frees them, in the order of allocation or in the reverse
 * order, many times; for each of several sizes, and for 25 to 1,600 blocks. One thread. Shows the
 * plain path where nothing but the allocator's own caches decides.
 *
 *   simple [millions of blocks 100]
 *
 * Prints the calls per second; one byte of each block is checked.
 */
#include "common.h"

static const size_t sizes[] = {16, 32, 64, 128, 256, 512, 1024, 4096};
static const size_t counts[] = {25, 100, 400, 1600};
enum {
    SIZE_COUNT = sizeof sizes / sizeof sizes[0],
    COUNT_COUNT = sizeof counts / sizeof counts[0],
    BLOCKS_MAX = 1600,
};

static volatile unsigned char *blocks[BLOCKS_MAX];

static uint64_t drop(size_t i)
{
    if (*blocks[i] != (unsigned char)i)
        fail("simple: a block was overwritten");
    free((void *)blocks[i]);
    return i;
}

static uint64_t fill_and_empty(size_t size, size_t count, size_t times)
{
    uint64_t check = 0;
    for (size_t time = 0; time < times; time++) {
        for (size_t i = 0; i < count; i++) {
            blocks[i] = allocate(size);
            *blocks[i] = (unsigned char)i;
        }
        if (time % 2)
            for (size_t i = count; i-- > 0;)
                check += drop(i);
        else
            for (size_t i = 0; i < count; i++)
                check += drop(i);
    }
    return check;
}

int main(int argc, char **argv)
{
    size_t share = argument(argc, argv, 1, 100) * 1000000 / (SIZE_COUNT * COUNT_COUNT);
    uint64_t operations = 0, check = 0, start_ns = now_ns();
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        for (size_t c = 0; c < COUNT_COUNT; c++) {
            size_t times = share / counts[c];
            check += fill_and_empty(sizes[s], counts[c], times);
            operations += 2 * times * counts[c];
        }
    }
    report("simple", operations, start_ns, check);
    return 0;
}
