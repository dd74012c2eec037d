/*
 * large: blocks of 0.1 to 8 MiB in a ring.
 *
 * The oldest of a ring of large blocks is replaced by a new one of another size, and one byte of
 * every OS page of it is written, as programs do that hold images, buffers or hash tables. Shows
 * what large blocks cost in the kernel (page faults, unmapping) and what is kept resident.
 *
 *   large [replacements 6000] [ring 16] [smallest KiB 100] [largest KiB 8192]
 *
 * Prints calls per second (a malloc and a free per replacement).
 */
#include "common.h"

enum { PAGE_BYTES = 4096 };

struct large {
    unsigned char *bytes;
    size_t size;
};

static void touch(struct large *block, unsigned char mark)
{
    for (size_t offset = 0; offset < block->size; offset += PAGE_BYTES)
        block->bytes[offset] = mark;
}

static uint64_t drop(struct large *block)
{
    uint64_t sum = 0;
    for (size_t offset = 0; offset < block->size; offset += PAGE_BYTES)
        sum += block->bytes[offset];
    if (block->size && sum != block->bytes[0] * ((block->size + PAGE_BYTES - 1) / PAGE_BYTES))
        fail("large: a block was overwritten");
    free(block->bytes);
    return sum;
}

int main(int argc, char **argv)
{
    size_t replacements = argument(argc, argv, 1, 6000), ring = argument(argc, argv, 2, 16);
    size_t smallest = argument(argc, argv, 3, 100) * 1024;
    size_t largest = argument(argc, argv, 4, 8192) * 1024;
    uint64_t random = random_seed(0), check = 0, start_ns = now_ns();
    struct large *blocks = calloc(ring, sizeof *blocks);
    if (!blocks || smallest > largest)
        fail("large: arguments");
    for (size_t i = 0; i < replacements; i++) {
        struct large *block = &blocks[i % ring];
        check += drop(block);
        block->size = random_between(&random, smallest, largest);
        block->bytes = allocate(block->size);
        touch(block, (unsigned char)(i | 1));
    }
    for (size_t i = 0; i < ring; i++)
        check += drop(&blocks[i]);
    free(blocks);
    report("large", 2 * replacements, start_ns, check);
    return 0;
}
