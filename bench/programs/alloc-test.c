/*
 * alloc-test: the pattern of Ivankov's alloc-test (ITHare, "Testing memory allocators").
 *
 * One big array of slots for each thread. A turn takes a random slot: a full one is read and
 * freed, an empty one gets a block of random size, all of it written. Sizes are about
 * exponential: each doubling from 8 bytes on is 0.7 times as likely as the one before. About half
 * of the slots are full, so blocks are many, of all ages, and scattered: shows how well blocks lie
 * together, beside what the calls cost.
 *
 *   alloc-test [threads 1] [turns per thread 10000000] [slots per thread 100000]
 *
 * Prints the calls per second; the first and last byte of each block are checked.
 */
#include "common.h"

enum { DOUBLINGS = 9, SMALLEST = 8 };   /* 8 to 4,095 bytes */

struct slot {
    unsigned char *block;
    size_t size;
};

struct work {
    unsigned index;
    size_t turns, slots;
    uint64_t check;
    APART;
};

static size_t random_size(uint64_t *random)
{
    size_t doubling = 0;
    while (doubling < DOUBLINGS - 1 && random_between(random, 0, 9) < 7)
        doubling++;
    size_t smallest = (size_t)SMALLEST << doubling;
    return random_between(random, smallest, 2 * smallest - 1);
}

static void fill(struct slot *slot, uint64_t *random)
{
    slot->size = random_size(random);
    slot->block = allocate(slot->size);
    memset(slot->block, (int)(slot->size & 0xff), slot->size);
}

/* Reads a byte of each cache line, as a program reads what it no longer needs. */
static uint64_t empty(struct slot *slot)
{
    enum { LINE_BYTES = 64 };
    unsigned char expected = (unsigned char)slot->size;
    uint64_t sum = 0;
    for (size_t offset = 0; offset < slot->size; offset += LINE_BYTES)
        sum += slot->block[offset];
    if (slot->block[0] != expected || slot->block[slot->size - 1] != expected)
        fail("alloc-test: a block was overwritten");
    free(slot->block);
    slot->block = NULL;
    return sum;
}

static void *run(void *data)
{
    struct work *work = data;
    uint64_t random = random_seed(work->index);
    spread(work->index);
    struct slot *slots = calloc(work->slots, sizeof *slots);
    if (!slots)
        fail("alloc-test: calloc returned null");
    for (size_t i = 0; i < work->turns; i++) {
        struct slot *slot = &slots[random_between(&random, 0, work->slots - 1)];
        if (slot->block)
            work->check += empty(slot);
        else
            fill(slot, &random);
    }
    for (size_t i = 0; i < work->slots; i++)
        if (slots[i].block)
            work->check += empty(&slots[i]);
    free(slots);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 1), turns = argument(argc, argv, 2, 10000000);
    size_t slots = argument(argc, argv, 3, 100000);
    struct work *works = allocate(threads * sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    uint64_t check = 0, start_ns = now_ns();
    for (size_t t = 0; t < threads; t++) {
        works[t] = (struct work){.index = (unsigned)t, .turns = turns, .slots = slots};
        ids[t] = start_thread(run, &works[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        check += works[t].check;
    }
    report("alloc-test", threads * turns, start_ns, check);
    free(ids);
    free(works);
    return 0;
}
