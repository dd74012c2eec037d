/*
 * exchange: threads that pass blocks on through shared places, with one atomic exchange each.
 *
 * Each turn a thread allocates a block of a random length, puts it into a random place, and frees
 * what stood there: with n threads a block of its own once in n times, else another's. Shows what
 * an allocator pays for freeing what it did not allocate when every thread does both, and with one
 * thread what replacing blocks at random costs.
 *
 *   exchange [threads 2] [turns of each thread 1000000] [places 20000] [smallest 16] [largest 1000]
 *
 * Prints the calls per second; the length is written into each block and checked.
 */
#include "common.h"
#include <stdatomic.h>

struct settings {
    size_t turns, places, smallest, largest;
    _Atomic(uint64_t *) *blocks;
};

struct worker {
    const struct settings *settings;
    unsigned index;
    uint64_t check;
    APART;
};

static uint64_t drop(uint64_t *block, const struct settings *settings)
{
    if (!block)
        return 0;
    uint64_t size = *block;
    if (size < settings->smallest || size > settings->largest)
        fail("exchange: a block was overwritten");
    free(block);
    return size;
}

static void *run(void *data)
{
    struct worker *worker = data;
    const struct settings *settings = worker->settings;
    uint64_t random = random_seed(worker->index);
    spread(worker->index);
    for (size_t turn = 0; turn < settings->turns; turn++) {
        size_t size = random_between(&random, settings->smallest, settings->largest);
        uint64_t *block = allocate(size);
        *block = size;
        size_t place = random_between(&random, 0, settings->places - 1);
        worker->check += drop(atomic_exchange(&settings->blocks[place], block), settings);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 2);
    struct settings settings = {.turns = argument(argc, argv, 2, 1000000),
                                .places = argument(argc, argv, 3, 20000),
                                .smallest = argument(argc, argv, 4, 16),
                                .largest = argument(argc, argv, 5, 1000)};
    if (settings.smallest < sizeof(uint64_t) || settings.largest < settings.smallest)
        fail("exchange: lengths from 8 bytes on, the smallest first");
    settings.blocks = calloc(settings.places, sizeof *settings.blocks);
    struct worker *workers = allocate(threads * sizeof *workers);
    pthread_t *ids = allocate(threads * sizeof *ids);
    if (!settings.blocks)
        fail("calloc returned null");
    uint64_t check = 0, start_ns = now_ns();
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.settings = &settings, .index = (unsigned)i};
        ids[i] = start_thread(run, &workers[i]);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        check += workers[i].check;
    }
    for (size_t i = 0; i < settings.places; i++)
        check += drop(atomic_load(&settings.blocks[i]), &settings);
    report("exchange", 2 * threads * settings.turns, start_ns, check);
    free(ids);
    free(workers);
    free((void *)settings.blocks);
    return 0;
}
