/*
 * batches: the pattern of MicroQuill's sh6bench.
 *
 * Blocks are allocated in batches, many of one size, then many of another, so that frees come in
 * bulk and in every order: a third of a batch is freed in the order of allocation, a third in the
 * reverse order, and the rest is kept until some batches later. Shows what bulk allocation and
 * bulk free cost, and whether kept blocks hurt their neighbours.
 *
 *   batches [threads 1] [rounds 300] [blocks per batch 10000]
 *
 * Prints the calls per second; one word of each block is checked.
 */
#include "common.h"

/* Most sizes are small, as in the original: 1..1000 bytes with a preference for 1..100. */
static const uint16_t sizes[] = {8, 12, 16, 24, 32, 40, 48, 64, 80, 100, 150, 220, 330, 500, 1000};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0], KEPT_BATCHES = 8 };

struct work {
    unsigned index;
    size_t rounds, batch;
    uint64_t operations, check;
    APART;
};

static void release(struct work *work, uint64_t *block, size_t number)
{
    if (*block != number)
        fail("batches: a block was overwritten");
    work->check += number;
    free(block);
}

static void allocate_batch(struct work *work, uint64_t **blocks, size_t size, size_t base)
{
    for (size_t i = 0; i < work->batch; i++) {
        blocks[i] = allocate(size < sizeof(uint64_t) ? sizeof(uint64_t) : size);
        *blocks[i] = base + i;
    }
    work->operations += work->batch;
}

/* Frees the first third in order, the second in reverse, and leaves the rest alone. */
static void free_two_thirds(struct work *work, uint64_t **blocks, size_t base)
{
    size_t third = work->batch / 3;
    for (size_t i = 0; i < third; i++)
        release(work, blocks[i], base + i);
    for (size_t i = 2 * third; i-- > third;)
        release(work, blocks[i], base + i);
    work->operations += 2 * third;
}

static void free_last_third(struct work *work, uint64_t **blocks, size_t base)
{
    size_t first = work->batch / 3 * 2;
    for (size_t i = first; i < work->batch; i++)
        release(work, blocks[i], base + i);
    work->operations += work->batch - first;
}

static void *run(void *data)
{
    struct work *work = data;
    uint64_t random = random_seed(work->index);
    spread(work->index);
    uint64_t **kept[KEPT_BATCHES];
    size_t kept_base[KEPT_BATCHES], count = 0;
    for (size_t k = 0; k < KEPT_BATCHES; k++)
        kept[k] = allocate(work->batch * sizeof **kept);
    for (size_t round = 0; round < work->rounds; round++) {
        for (size_t s = 0; s < SIZE_COUNT; s++, count++) {
            size_t k = count % KEPT_BATCHES, base = count * work->batch;
            if (count >= KEPT_BATCHES)
                free_last_third(work, kept[k], kept_base[k]);
            size_t size = random_between(&random, sizes[s] - sizes[s] / 4, sizes[s]);
            allocate_batch(work, kept[k], size, base);
            kept_base[k] = base;
            free_two_thirds(work, kept[k], base);
        }
    }
    for (size_t k = 0; k < KEPT_BATCHES && k < count; k++)
        free_last_third(work, kept[k], kept_base[k]);
    for (size_t k = 0; k < KEPT_BATCHES; k++)
        free(kept[k]);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 1);
    size_t rounds = argument(argc, argv, 2, 300), batch = argument(argc, argv, 3, 10000);
    struct work *works = allocate(threads * sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    uint64_t operations = 0, check = 0, start_ns = now_ns();
    for (size_t t = 0; t < threads; t++) {
        works[t] = (struct work){.index = (unsigned)t, .rounds = rounds, .batch = batch};
        ids[t] = start_thread(run, &works[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        operations += works[t].operations;
        check += works[t].check;
    }
    report("batches", operations, start_ns, check);
    free(ids);
    free(works);
    return 0;
}
