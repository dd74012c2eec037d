/* What cache-scratch and cache-thrash share: threads that write to a block, then to the next. */
#ifndef BENCH_WRITES_H
#define BENCH_WRITES_H

#include "common.h"

struct writer {
    unsigned index;
    size_t turns, size, writes;
    volatile unsigned char *given;   /* from the main thread, or null */
    uint64_t check;
    APART;
};

static void write_and_free(struct writer *writer, volatile unsigned char *block)
{
    unsigned char last = (unsigned char)writer->writes;
    for (size_t i = 0; i < writer->size; i++)
        block[i] = 0;
    for (size_t i = 0; i < writer->writes; i++)
        for (size_t k = 0; k < writer->size; k++)
            block[k]++;
    if (block[0] != last || block[writer->size - 1] != last)
        fail("a block was overwritten");
    writer->check += last;
    free((void *)block);
}

static void *write_blocks(void *data)
{
    struct writer *writer = data;
    spread(writer->index);
    if (writer->given)
        write_and_free(writer, writer->given);
    for (size_t i = 0; i < writer->turns; i++)
        write_and_free(writer, allocate(writer->size));
    return NULL;
}

/*
 * Gives each writer a block, all of one cache line if the allocator lets neighbours share one:
 * blocks are tried until that is so. The others are freed.
 */
static void give_neighbours(struct writer *writers, size_t threads, size_t size)
{
    enum { TRIED = 64, LINE_BYTES = 64 };
    unsigned char *blocks[TRIED];
    size_t first = 0;
    if (threads > TRIED)
        fail("at most %d threads", TRIED);
    for (size_t i = 0; i < TRIED; i++)
        blocks[i] = allocate(size);
    for (size_t i = TRIED - threads + 1; i-- > 0;) {
        uintptr_t line = (uintptr_t)blocks[i] / LINE_BYTES;
        if (line == (uintptr_t)blocks[i + threads - 1] / LINE_BYTES)
            first = i;
    }
    for (size_t i = 0; i < TRIED; i++) {
        if (i >= first && i < first + threads)
            writers[i - first].given = blocks[i];
        else
            free(blocks[i]);
    }
}

/* The whole program; `giving`: the main thread allocates each thread's first block. */
static int run_writers(const char *name, int giving, int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 2), turns = argument(argc, argv, 2, 500000);
    size_t size = argument(argc, argv, 3, 8), writes = argument(argc, argv, 4, 100);
    struct writer *writers = allocate(threads * sizeof *writers);
    pthread_t *ids = allocate(threads * sizeof *ids);
    uint64_t check = 0, start_ns = now_ns();
    for (size_t t = 0; t < threads; t++)
        writers[t] = (struct writer){.index = (unsigned)t, .turns = turns, 
                                     .size = size, .writes = writes};
    if (giving)
        give_neighbours(writers, threads, size);
    for (size_t t = 0; t < threads; t++)
        ids[t] = start_thread(write_blocks, &writers[t]);
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        check += writers[t].check;
    }
    report(name, 2 * threads * (turns + (giving ? 1 : 0)), start_ns, check);
    free(ids);
    free(writers);
    return 0;
}

#endif
