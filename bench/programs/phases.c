/*
 * phases: a long-running server's day, in seconds.
 *
 * Worker threads load their caches, serve (replace entries at random; an eighth goes to another
 * thread's cache), drop seven of eight entries, are idle but for a call every 50 ms, serve other
 * requests with few large and many tiny blocks until as much is live as at first, free everything
 * and are idle again. Shows whether memory follows the load, and whether what was freed in one
 * size can be used in another.
 *
 *   phases [threads 2] [entries per thread 60000] [replacements per thread 3000000]
 *          [idle ms 1500]
 *
 * Prints at the end of each phase the anonymous resident memory and what is live, and at last the
 * calls per second outside of the idle times.
 */
#include "resident.h"
#include <stdatomic.h>

enum {
    THREADS_MAX = 64, ENTRIES_MAX = 1000000, SHARED_SLOTS = 512,
    FIRST_SMALLEST = 32, FIRST_LARGEST = 2000,
    BUFFER_SMALLEST = 4096, BUFFER_LARGEST = 65536, TINY_SMALLEST = 16, TINY_LARGEST = 64,
    CALL_EVERY_MS = 50,
};

struct entry {
    uint32_t size, mark;   /* bytes; size ^ MARK */
};

static const uint32_t MARK = 0x5bd1e995;

struct worker {
    unsigned index;
    uint64_t random, operations, check, live_bytes;   /* live_bytes: modulo 2^64, of all the sum */
    struct entry **entries;
    APART;
};

static size_t thread_count, entry_count, replacement_count, idle_ms;
static uint64_t first_bytes;   /* live after loading; set by main between two phases */
static struct worker workers[THREADS_MAX];
static _Atomic(struct entry *) shared_entries[SHARED_SLOTS];

static struct entry *make(struct worker *worker, size_t smallest, size_t largest)
{
    size_t size = random_between(&worker->random, smallest, largest);
    struct entry *entry = allocate(size);
    memset(entry, 0x55, size);
    entry->size = (uint32_t)size;
    entry->mark = (uint32_t)size ^ MARK;
    worker->live_bytes += size;
    worker->operations++;
    return entry;
}

static void drop(struct worker *worker, struct entry *entry)
{
    if (!entry)
        return;
    if ((entry->size ^ MARK) != entry->mark)
        fail("phases: a block was overwritten");
    worker->check += entry->size;
    worker->live_bytes -= entry->size;
    worker->operations++;
    free(entry);
}

static struct entry **random_place(struct worker *worker)
{
    return &worker->entries[random_between(&worker->random, 0, entry_count - 1)];
}

static void load(struct worker *worker)
{
    for (size_t i = 0; i < entry_count; i++)
        worker->entries[i] = make(worker, FIRST_SMALLEST, FIRST_LARGEST);
}

static void serve(struct worker *worker)
{
    for (size_t i = 0; i < replacement_count; i++) {
        struct entry **place = random_place(worker);
        drop(worker, *place);
        *place = make(worker, FIRST_SMALLEST, FIRST_LARGEST);
        if (i % 8 == 0)
            *place = atomic_exchange(&shared_entries[i / 8 % SHARED_SLOTS], *place);
    }
}

static void trim(struct worker *worker)
{
    for (size_t i = 0; i < entry_count; i++) {
        if (random_next(&worker->random) >> 61) {
            drop(worker, worker->entries[i]);
            worker->entries[i] = NULL;
        }
    }
}

static void idle(struct worker *worker)
{
    for (size_t slept = 0; slept < idle_ms; slept += CALL_EVERY_MS) {
        sleep_ms(CALL_EVERY_MS);
        drop(worker, make(worker, TINY_SMALLEST, TINY_LARGEST));
    }
}

/* Sixteen tiny blocks for each buffer, into empty places, until the worker's share is reached. */
static void serve_others(struct worker *worker)
{
    uint64_t share = first_bytes / thread_count, added = 0, before = worker->live_bytes;
    for (size_t i = 0; added < share - share / 8; i++) {
        struct entry **place = random_place(worker);
        drop(worker, *place);
        *place = i % 16 ? make(worker, TINY_SMALLEST, TINY_LARGEST)
                        : make(worker, BUFFER_SMALLEST, BUFFER_LARGEST);
        added = worker->live_bytes - before;
        if ((int64_t)added < 0)
            added = 0;
    }
}

static void empty(struct worker *worker)
{
    for (size_t i = 0; i < entry_count; i++) {
        drop(worker, worker->entries[i]);
        worker->entries[i] = NULL;
    }
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        drop(worker, atomic_exchange(&shared_entries[i], NULL));
}

static const struct phase {
    const char *name;
    void (*run)(struct worker *);
} phases[] = {
    {"load", load}, {"serve", serve}, {"trim", trim}, {"idle", idle},
    {"others", serve_others}, {"empty", empty}, {"end", idle},
};
enum { PHASE_COUNT = sizeof phases / sizeof phases[0] };

static pthread_barrier_t barrier;

static void *work(void *data)
{
    struct worker *worker = data;
    spread(worker->index);
    for (size_t p = 0; p < PHASE_COUNT; p++) {
        pthread_barrier_wait(&barrier);
        phases[p].run(worker);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static uint64_t live_bytes(void)
{
    uint64_t sum = 0;
    for (size_t t = 0; t < thread_count; t++)
        sum += workers[t].live_bytes;
    return sum;
}

int main(int argc, char **argv)
{
    static struct entry *entries[ENTRIES_MAX];
    pthread_t ids[THREADS_MAX];
    thread_count = argument(argc, argv, 1, 2);
    entry_count = argument(argc, argv, 2, 60000);
    replacement_count = argument(argc, argv, 3, 3000000);
    idle_ms = argument(argc, argv, 4, 1500);
    if (thread_count > THREADS_MAX || thread_count * entry_count > ENTRIES_MAX)
        fail("phases: at most %d threads and %d entries", THREADS_MAX, ENTRIES_MAX);
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count + 1);
    uint64_t start_ns = now_ns(), operations = 0, check = 0;
    for (size_t t = 0; t < thread_count; t++) {
        workers[t] = (struct worker){.index = (unsigned)t, .random = random_seed((unsigned)t),
                                     .entries = entries + t * entry_count};
        ids[t] = start_thread(work, &workers[t]);
    }
    for (size_t p = 0; p < PHASE_COUNT; p++) {
        uint64_t phase_ns = now_ns();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        print_resident(phases[p].name, anonymous_kib(), live_bytes());
        if (p == 0)
            first_bytes = live_bytes();
        if (phases[p].run == idle)
            start_ns += now_ns() - phase_ns;
    }
    for (size_t t = 0; t < thread_count; t++) {
        pthread_join(ids[t], NULL);
        operations += workers[t].operations;
        check += workers[t].check;
    }
    report("phases", operations, start_ns, check);
    return 0;
}
