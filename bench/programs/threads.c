/*
 * threads: the pattern of glibc's bench-malloc-thread.
 *
 * Each thread has a small working set and replaces randomly chosen blocks of it. Sizes are from 4
 * bytes to 32 KiB, and the likelihood of a size falls with its square: most are tiny. Threads
 * share nothing. Shows how the common path scales with the number of threads.
 *
 *   threads [threads 2] [replacements per thread 20000000] [blocks per thread 1024]
 *
 * Prints the calls per second; the first byte of each block is checked.
 */
#include "common.h"

enum { SMALLEST = 4, LARGEST = 32768, SIZE_COUNT = 8192 };

/* Drawn beforehand and read in a circle, so that drawing costs nothing. Written by main only. */
static uint16_t sizes[SIZE_COUNT];

struct work {
    unsigned index;
    size_t turns, blocks;
    uint64_t check;
    APART;
};

/* With u even in (0, 1], SMALLEST / u has a density that falls with the square of the size. */
static void draw_sizes(void)
{
    uint64_t random = random_seed(0);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        double u = (double)random_between(&random, 1, 1 << 20) / (1 << 20);
        double size = SMALLEST / u;
        sizes[i] = (uint16_t)(size > LARGEST ? LARGEST : size);
    }
}

static void drop(struct work *work, unsigned char *block, size_t slot)
{
    if (*block != (unsigned char)slot)
        fail("threads: a block was overwritten");
    work->check += slot;
    free(block);
}

static unsigned char *make(size_t size, size_t slot)
{
    unsigned char *block = allocate(size);
    *block = (unsigned char)slot;
    return block;
}

static void *run(void *data)
{
    struct work *work = data;
    uint64_t random = random_seed(work->index + 1);
    spread(work->index);
    unsigned char **blocks = allocate(work->blocks * sizeof *blocks);
    size_t next = work->index * 1000;
    for (size_t slot = 0; slot < work->blocks; slot++)
        blocks[slot] = make(sizes[next++ % SIZE_COUNT], slot);
    for (size_t i = 0; i < work->turns; i++) {
        size_t slot = random_between(&random, 0, work->blocks - 1);
        drop(work, blocks[slot], slot);
        blocks[slot] = make(sizes[next++ % SIZE_COUNT], slot);
    }
    for (size_t slot = 0; slot < work->blocks; slot++)
        drop(work, blocks[slot], slot);
    free(blocks);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 2), turns = argument(argc, argv, 2, 20000000);
    size_t blocks = argument(argc, argv, 3, 1024);
    struct work *works = allocate(threads * sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    draw_sizes();
    uint64_t check = 0, start_ns = now_ns();
    for (size_t t = 0; t < threads; t++) {
        works[t] = (struct work){.index = (unsigned)t, .turns = turns, .blocks = blocks};
        ids[t] = start_thread(run, &works[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        check += works[t].check;
    }
    report("threads", 2 * threads * (turns + blocks), start_ns, check);
    free(ids);
    free(works);
    return 0;
}
