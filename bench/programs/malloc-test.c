/*
 * malloc-test: Lever and Boreham's malloc-test ("malloc() performance in a multithreaded Linux
 * environment", USENIX 2000).
 *
 * Each thread allocates and frees blocks of one size. In the first half of its turns a block is
 * freed as soon as it is there, as in the original; in the second half the thread has an array of
 * live blocks and replaces randomly chosen ones. Threads share nothing: shows the plain path of
 * one size, and whether threads are in each other's way.
 *
 *   malloc-test [threads 1] [turns per thread 20000000] [size 512] [live blocks 2000]
 *
 * Prints the calls per second; one word of each block is checked.
 */
#include "common.h"

struct work {
    unsigned index;
    size_t turns, size, live;
    uint64_t check;
    APART;
};

static uint64_t *make(const struct work *work, uint64_t word)
{
    uint64_t *block = allocate(work->size);
    *block = word;
    return block;
}

static void drop(struct work *work, uint64_t *block, uint64_t word)
{
    if (*block != word)
        fail("malloc-test: a block was overwritten");
    work->check += word;
    free(block);
}

static void *run(void *data)
{
    struct work *work = data;
    uint64_t random = random_seed(work->index);
    spread(work->index);
    for (size_t i = 0; i < work->turns / 2; i++)
        drop(work, make(work, i), i);
    uint64_t **blocks = allocate(work->live * sizeof *blocks);
    for (size_t slot = 0; slot < work->live; slot++)
        blocks[slot] = make(work, slot);
    for (size_t i = work->live; i < work->turns - work->turns / 2; i++) {
        size_t slot = random_between(&random, 0, work->live - 1);
        drop(work, blocks[slot], slot);
        blocks[slot] = make(work, slot);
    }
    for (size_t slot = 0; slot < work->live; slot++)
        drop(work, blocks[slot], slot);
    free(blocks);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 1), turns = argument(argc, argv, 2, 20000000);
    size_t size = argument(argc, argv, 3, 512), live = argument(argc, argv, 4, 2000);
    if (size < sizeof(uint64_t) || turns / 2 < live)
        fail("malloc-test: blocks of 8 bytes at least, and two turns per live block");
    struct work *works = allocate(threads * sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    uint64_t check = 0, start_ns = now_ns();
    for (size_t t = 0; t < threads; t++) {
        works[t] = (struct work){.index = (unsigned)t, .turns = turns, .size = size, .live = live};
        ids[t] = start_thread(run, &works[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        check += works[t].check;
    }
    report("malloc-test", 2 * threads * turns, start_ns, check);
    free(ids);
    free(works);
    return 0;
}
