/*
 * rptest: the pattern of rpmalloc's benchmark (Jansson).
 *
 * Each thread works in loops. A loop allocates many blocks and, every few allocations, frees some
 * of its older ones and allocates new ones, at places that jump about. Every few loops the thread
 * hands all its blocks to its neighbour, who frees them, and frees what was handed to it. Sizes
 * are of three distributions, one per loop in turn: even, falling linearly, falling exponentially.
 * Shows local and remote frees of middle sizes, in bulk.
 *
 *   rptest [threads 2] [loops 100] [blocks per loop 20000] [replacements per 8 blocks 4]
 *          [hand over every ... loops 2] [smallest 16] [largest 8000]
 *
 * Prints the calls per second; a word of each block is checked.
 */
#include "common.h"
#include <stdatomic.h>

struct settings {
    size_t threads, loops, blocks, replacements, cross, smallest, largest;
};

struct batch {
    struct batch *next;
    uint32_t **blocks;
};

/* handed: pushed by the neighbour before, taken at once by the owner. */
struct work {
    const struct settings *settings;
    struct work *neighbour;
    _Atomic(struct batch *) handed;
    unsigned index;
    uint64_t random, operations, check;
    APART;
};

enum { BLOCKS_PER_TURN = 8, JUMP = 8191 };   /* JUMP: a prime, so that all places are reached */

static size_t random_size(struct work *work, size_t loop)
{
    const struct settings *s = work->settings;
    size_t range = s->largest - s->smallest;
    size_t size = random_between(&work->random, 0, range);
    if (loop % 3 == 1) {
        size_t other = random_between(&work->random, 0, range);
        size = size < other ? size : other;
    } else if (loop % 3 == 2) {
        for (size_t halvings = random_between(&work->random, 0, 7); halvings; halvings--)
            size /= 2;
    }
    return s->smallest + size;
}

static uint32_t *make(struct work *work, size_t loop)
{
    size_t size = random_size(work, loop);
    uint32_t *block = allocate(size);
    block[0] = block[size / sizeof *block - 1] = (uint32_t)size;
    work->operations++;
    return block;
}

static void drop(struct work *work, uint32_t *block)
{
    uint32_t size = block[0];
    if (size < work->settings->smallest || size > work->settings->largest ||
        block[size / sizeof *block - 1] != size)
        fail("rptest: a block was overwritten");
    work->check += size;
    work->operations++;
    free(block);
}

static void drop_batch(struct work *work, uint32_t **blocks)
{
    for (size_t i = 0; i < work->settings->blocks; i++)
        drop(work, blocks[i]);
    free(blocks);
}

static void take_handed(struct work *work)
{
    struct batch *batch = atomic_exchange(&work->handed, NULL);
    while (batch) {
        struct batch *next = batch->next;
        drop_batch(work, batch->blocks);
        free(batch);
        batch = next;
    }
}

static void hand_over(struct work *work, uint32_t **blocks)
{
    struct batch *batch = allocate(sizeof *batch);
    batch->blocks = blocks;
    batch->next = atomic_load(&work->neighbour->handed);
    while (!atomic_compare_exchange_weak(&work->neighbour->handed, &batch->next, batch))
        continue;
}

static void replace(struct work *work, uint32_t **blocks, size_t count, size_t loop)
{
    for (size_t i = 0; i < work->settings->replacements; i++) {
        uint32_t **place = &blocks[(count + i) * JUMP % count];
        drop(work, *place);
        *place = make(work, loop);
    }
}

static void *run(void *data)
{
    struct work *work = data;
    const struct settings *s = work->settings;
    spread(work->index);
    for (size_t loop = 0; loop < s->loops; loop++) {
        uint32_t **blocks = allocate(s->blocks * sizeof *blocks);
        for (size_t count = 0; count < s->blocks; count++) {
            blocks[count] = make(work, loop);
            if (count % BLOCKS_PER_TURN == BLOCKS_PER_TURN - 1)
                replace(work, blocks, count, loop);
        }
        if (s->threads > 1 && loop % s->cross == 0)
            hand_over(work, blocks);
        else
            drop_batch(work, blocks);
        take_handed(work);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct settings s = {
        .threads = argument(argc, argv, 1, 2),
        .loops = argument(argc, argv, 2, 100),
        .blocks = argument(argc, argv, 3, 20000),
        .replacements = argument(argc, argv, 4, 4),
        .cross = argument(argc, argv, 5, 2),
        .smallest = argument(argc, argv, 6, 16),
        .largest = argument(argc, argv, 7, 8000),
    };
    if (s.smallest < sizeof(uint32_t) || s.smallest > s.largest)
        fail("rptest: sizes of 4 bytes at least, the smallest first");
    struct work *works = calloc(s.threads, sizeof *works);
    pthread_t *ids = allocate(s.threads * sizeof *ids);
    if (!works)
        fail("rptest: calloc returned null");
    uint64_t operations = 0, check = 0, start_ns = now_ns();
    for (size_t t = 0; t < s.threads; t++) {
        works[t].settings = &s;
        works[t].neighbour = &works[(t + 1) % s.threads];
        works[t].index = (unsigned)t;
        works[t].random = random_seed((unsigned)t);
    }
    for (size_t t = 0; t < s.threads; t++)
        ids[t] = start_thread(run, &works[t]);
    for (size_t t = 0; t < s.threads; t++)
        pthread_join(ids[t], NULL);
    for (size_t t = 0; t < s.threads; t++) {
        take_handed(&works[t]);
        operations += works[t].operations;
        check += works[t].check;
    }
    report("rptest", operations, start_ns, check);
    free(ids);
    free(works);
    return 0;
}
