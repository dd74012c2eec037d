/*
 * handoff: the pattern of Lever and Boreham's xmalloc-test ("malloc() performance in a
 * multithreaded Linux environment", USENIX 2000).
 *
 * In each pair one thread only allocates and another only frees: every free is remote. Blocks
 * travel in batches through a queue of bounded length. Shows what a remote free costs both sides,
 * and whether the memory comes back to the thread that allocates.
 *
 *   handoff [pairs 1] [batches 200000] [blocks per batch 120] [queue length 64 batches]
 *
 * Prints the calls per second; one word of each block is checked.
 */
#include "common.h"

struct batch {
    struct batch *next;
    size_t count;
    uint64_t *blocks[];
};

struct pair {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct batch *first, **last;
    size_t length, limit, batches, blocks;
    unsigned index;
    uint64_t check;
    APART;
};

static void push(struct pair *pair, struct batch *batch)
{
    pthread_mutex_lock(&pair->lock);
    while (pair->length == pair->limit)
        pthread_cond_wait(&pair->not_full, &pair->lock);
    batch->next = NULL;
    *pair->last = batch;
    pair->last = &batch->next;
    if (pair->length++ == 0)
        pthread_cond_signal(&pair->not_empty);
    pthread_mutex_unlock(&pair->lock);
}

static struct batch *pop(struct pair *pair)
{
    pthread_mutex_lock(&pair->lock);
    while (pair->length == 0)
        pthread_cond_wait(&pair->not_empty, &pair->lock);
    struct batch *batch = pair->first;
    pair->first = batch->next;
    if (!pair->first)
        pair->last = &pair->first;
    if (pair->length-- == pair->limit)
        pthread_cond_signal(&pair->not_full);
    pthread_mutex_unlock(&pair->lock);
    return batch;
}

static void *produce(void *data)
{
    struct pair *pair = data;
    uint64_t random = random_seed(pair->index);
    spread(2 * pair->index);
    for (size_t b = 0; b < pair->batches; b++) {
        struct batch *batch = allocate(sizeof *batch + pair->blocks * sizeof batch->blocks[0]);
        batch->count = pair->blocks;
        for (size_t i = 0; i < pair->blocks; i++) {
            /* a mix: mostly 8..128 bytes, an eighth 128..1024 */
            size_t size = (random_next(&random) >> 61) == 0 ? random_between(&random, 128, 1024)
                                                            : random_between(&random, 8, 128);
            batch->blocks[i] = allocate(size);
            *batch->blocks[i] = b ^ i;
        }
        push(pair, batch);
    }
    return NULL;
}

static void *consume(void *data)
{
    struct pair *pair = data;
    spread(2 * pair->index + 1);
    for (size_t b = 0; b < pair->batches; b++) {
        struct batch *batch = pop(pair);
        for (size_t i = 0; i < batch->count; i++) {
            if (*batch->blocks[i] != (b ^ i))
                fail("handoff: a block was overwritten");
            pair->check += b ^ i;
            free(batch->blocks[i]);
        }
        free(batch);
    }
    return NULL;
}

static void open_pair(struct pair *pair, unsigned index, int argc, char **argv)
{
    *pair = (struct pair){.index = index,
                          .batches = argument(argc, argv, 2, 200000),
                          .blocks = argument(argc, argv, 3, 120),
                          .limit = argument(argc, argv, 4, 64)};
    pair->last = &pair->first;
    pthread_mutex_init(&pair->lock, NULL);
    pthread_cond_init(&pair->not_full, NULL);
    pthread_cond_init(&pair->not_empty, NULL);
}

int main(int argc, char **argv)
{
    size_t count = argument(argc, argv, 1, 1);
    struct pair *pairs = allocate(count * sizeof *pairs);
    pthread_t *ids = allocate(2 * count * sizeof *ids);
    uint64_t operations = 0, check = 0, start_ns = now_ns();
    for (size_t p = 0; p < count; p++) {
        open_pair(&pairs[p], (unsigned)p, argc, argv);
        ids[2 * p] = start_thread(produce, &pairs[p]);
        ids[2 * p + 1] = start_thread(consume, &pairs[p]);
    }
    for (size_t p = 0; p < count; p++) {
        pthread_join(ids[2 * p], NULL);
        pthread_join(ids[2 * p + 1], NULL);
        operations += 2 * pairs[p].batches * (pairs[p].blocks + 1);
        check += pairs[p].check;
    }
    report("handoff", operations, start_ns, check);
    free(ids);
    free(pairs);
    return 0;
}
