/*
 * mixed: the pattern of mimalloc's stress test and of rpmalloc's benchmark.
 *
 * Threads allocate blocks whose sizes have a heavy tail (most below 1 KiB, a few up to 256 KiB),
 * keep some of them, and swap others into a shared array by an atomic exchange, so that any thread
 * may free them. In rounds: at the end of each, every thread frees what it kept and ends, and the
 * next round starts new threads. Shows the whole allocator: small, medium and large blocks,
 * remote frees and ended threads together.
 *
 *   mixed [threads 2] [rounds 40] [blocks per thread and round 250000]
 *
 * Prints the calls per second; a word of each block is checked.
 */
#include "common.h"
#include <stdatomic.h>

enum { SHARED_SLOTS = 1024, KEPT_SLOTS = 10000 };

struct block {
    size_t size;   /* bytes, this header included */
    size_t mark;   /* size ^ MARK */
};

static const size_t MARK = 0x5bd1e995;
static _Atomic(struct block *) shared_blocks[SHARED_SLOTS];

struct work {
    unsigned index;
    size_t blocks;
    uint64_t operations, check;
    APART;
};

/* Bytes: 16 to 255 usually; each of four doublings of the range is an eighth as likely. */
static size_t random_size(uint64_t *random)
{
    uint64_t dice = random_next(random) >> 40;
    if (dice % 8)
        return random_between(random, 16, 255);
    if (dice % 64)
        return random_between(random, 256, 1024);
    if (dice % 512)
        return random_between(random, 1025, 8192);
    if (dice % 4096)
        return random_between(random, 8193, 65536);
    return random_between(random, 65537, 262144);
}

static struct block *make(struct work *work, uint64_t *random)
{
    size_t size = random_size(random);
    struct block *block = allocate(size);
    block->size = size;
    block->mark = size ^ MARK;
    for (size_t offset = sizeof *block; offset < size; offset += 1024)
        ((char *)block)[offset] = (char)offset;
    work->operations++;
    return block;
}

static void drop(struct work *work, struct block *block)
{
    if (!block)
        return;
    if ((block->size ^ MARK) != block->mark)
        fail("mixed: a block was overwritten");
    work->check += block->size;
    work->operations++;
    free(block);
}

static void *run(void *data)
{
    struct work *work = data;
    uint64_t random = random_seed(work->index);
    spread(work->index);
    struct block **kept = calloc(KEPT_SLOTS, sizeof *kept);
    if (!kept)
        fail("mixed: calloc returned null");
    for (size_t i = 0; i < work->blocks; i++) {
        struct block *block = make(work, &random);
        uint64_t dice = random_next(&random) >> 40;
        if (dice % 4 == 0) {
            drop(work, atomic_exchange(&shared_blocks[dice / 4 % SHARED_SLOTS], block));
        } else {
            struct block **slot = &kept[dice / 4 % KEPT_SLOTS];
            drop(work, *slot);
            *slot = block;
        }
    }
    for (size_t i = 0; i < KEPT_SLOTS; i++)
        drop(work, kept[i]);
    free(kept);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 2), rounds = argument(argc, argv, 2, 40);
    size_t blocks = argument(argc, argv, 3, 250000);
    struct work *works = allocate(threads * sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    struct work total = {0};
    uint64_t start_ns = now_ns();
    for (size_t round = 0; round < rounds; round++) {
        for (size_t t = 0; t < threads; t++) {
            works[t] = (struct work){.index = (unsigned)(round * threads + t), .blocks = blocks};
            ids[t] = start_thread(run, &works[t]);
        }
        for (size_t t = 0; t < threads; t++) {
            pthread_join(ids[t], NULL);
            total.operations += works[t].operations;
            total.check += works[t].check;
        }
    }
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        drop(&total, atomic_exchange(&shared_blocks[i], NULL));
    report("mixed", total.operations, start_ns, total.check);
    free(ids);
    free(works);
    return 0;
}
