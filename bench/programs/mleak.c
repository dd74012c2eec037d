/*
 * mleak: threads that come and go, the question of mimalloc's mleak test.
 *
 * Starts thousands of short threads, a few at a time. Each allocates some blocks, frees most of
 * them and ends; a few blocks outlive it and are freed by the main thread a while later. What is
 * live is little at any time: peak memory shows whether the heaps of ended threads are used
 * again, and time what the first calls of a thread and its end cost.
 *
 *   mleak [threads 20000] [at a time 4] [blocks per thread 200] [threads whose blocks stay 64]
 *         [bytes of the largest block 1000]
 *
 * Prints the calls per second; a word of each block is checked. Blocks that may have more than
 * 1,000 bytes are written to as a whole.
 */
#include "common.h"

enum { KEPT_OF_EACH = 4, LARGE_BYTES = 40000, LARGE_EVERY = 8, SMALL_BYTES = 1000 };

struct visit {
    size_t index, blocks, largest;
    uint64_t check;
    size_t *kept[KEPT_OF_EACH];
};

static void drop(struct visit *visit, size_t *block, size_t word)
{
    if (*block != word)
        fail("mleak: a block was overwritten");
    visit->check += word;
    free(block);
}

static void *run(void *data)
{
    struct visit *visit = data;
    uint64_t random = random_seed((unsigned)visit->index);
    size_t **blocks = allocate(visit->blocks * sizeof *blocks);
    for (size_t i = 0; i < visit->blocks; i++) {
        size_t size = random_between(&random, 16, visit->largest);
        blocks[i] = allocate(size);
        if (visit->largest > SMALL_BYTES)
            memset(blocks[i], 1, size);
        *blocks[i] = i;
    }
    if (visit->index % LARGE_EVERY == 0) {
        size_t *large = allocate(LARGE_BYTES);
        memset(large, 0, LARGE_BYTES);
        drop(visit, large, 0);
    }
    for (size_t i = KEPT_OF_EACH; i < visit->blocks; i++)
        drop(visit, blocks[i], i);
    for (size_t i = 0; i < KEPT_OF_EACH; i++)
        visit->kept[i] = blocks[i];
    free(blocks);
    return NULL;
}

static void drop_kept(struct visit *visit)
{
    for (size_t i = 0; i < KEPT_OF_EACH; i++)
        drop(visit, visit->kept[i], i);
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 20000), together = argument(argc, argv, 2, 4);
    size_t blocks = argument(argc, argv, 3, 200), staying = argument(argc, argv, 4, 64);
    size_t largest = argument(argc, argv, 5, SMALL_BYTES);
    if (blocks < KEPT_OF_EACH || staying < together)
        fail("mleak: at least 4 blocks per thread, and as many staying as threads at a time");
    struct visit *visits = allocate(threads * sizeof *visits);
    pthread_t *ids = allocate(together * sizeof *ids);
    uint64_t operations = 0, check = 0, start_ns = now_ns();
    for (size_t started = 0, joined = 0, dropped = 0; dropped < threads;) {
        if (started < threads && started - joined < together) {
            visits[started] = (struct visit){started, blocks, largest, 0, {NULL}};
            ids[started % together] = start_thread(run, &visits[started]);
            started++;
        } else if (joined < started) {
            pthread_join(ids[joined++ % together], NULL);
        }
        if (joined - dropped > staying || joined == threads) {
            drop_kept(&visits[dropped]);
            check += visits[dropped++].check;
            operations += 2 * (blocks + 1);
        }
    }
    operations += 2 * ((threads + LARGE_EVERY - 1) / LARGE_EVERY);
    report("mleak", operations, start_ns, check);
    free(ids);
    free(visits);
    return 0;
}
