/*
 * latency: how long single calls of malloc and free take, the rare slow ones above all.
 *
 * Two threads replace random blocks of many sizes (most small, some of 256 KiB to 1 MiB), swap
 * some of them with each other, free thousands at once now and then, and start short threads that
 * allocate and free, too. Every call is timed by itself; the time of reading the clock is
 * subtracted. First writes to fresh memory are outside of the calls and so not counted. Times are
 * kept in histograms with 32 steps per doubling: figures are right to 3%.
 *
 *   latency [threads 2] [turns per thread 3000000] [live blocks per thread 20000]
 *
 * Prints for malloc and for free the 50th, 99th, 99.9th and 99.99th percentile and the maximum in
 * ns, and the calls per second.
 */
#include "common.h"
#include <stdatomic.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
    STEP_BITS = 5,                           /* 32 steps per doubling */
    STEPS = 1 << STEP_BITS,
    BUCKETS = (64 - STEP_BITS) * STEPS,
    SHARED_SLOTS = 512,
    BULK_EVERY = 100000, BULK_BLOCKS = 5000, /* turns; blocks of the table freed at once */
    THREAD_EVERY = 50000, THREAD_BLOCKS = 500,
    CALIBRATIONS = 10000,
};

struct histogram {
    uint64_t count, most, of[BUCKETS];   /* ticks */
};

/* One for each thread and short thread: both end before anything is printed. */
struct times {
    struct histogram malloc, free;
};

struct block {
    size_t size, mark;   /* bytes; size ^ MARK */
};

struct work {
    unsigned index;
    size_t turns, slots;
    uint64_t random, check;
    struct block **blocks;
    struct times times;
    APART;
};

static const size_t MARK = 0x5bd1e995;
static _Atomic(struct block *) shared_blocks[SHARED_SLOTS];
static uint64_t overhead_ticks;   /* of reading the clock twice; set before threads start */

/* A clock that is fast to read; its unit is found out by comparing it with now_ns. */
static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return now_ns();
#endif
}

static size_t bucket_of(uint64_t value)
{
    if (value < STEPS)
        return (size_t)value;
    size_t shift = 63 - (size_t)__builtin_clzll(value) - STEP_BITS;
    return (shift + 1) * STEPS + (size_t)(value >> shift) - STEPS;
}

/* The largest value of the bucket. */
static uint64_t bucket_end(size_t bucket)
{
    if (bucket < STEPS)
        return bucket;
    size_t shift = bucket / STEPS - 1;
    return ((uint64_t)(bucket % STEPS + STEPS + 1) << shift) - 1;
}

static void record(struct histogram *histogram, uint64_t elapsed)
{
    elapsed = elapsed > overhead_ticks ? elapsed - overhead_ticks : 0;
    histogram->count++;
    histogram->of[bucket_of(elapsed)]++;
    if (elapsed > histogram->most)
        histogram->most = elapsed;
}

static void add(struct histogram *sum, const struct histogram *part)
{
    sum->count += part->count;
    for (size_t b = 0; b < BUCKETS; b++)
        sum->of[b] += part->of[b];
    if (part->most > sum->most)
        sum->most = part->most;
}

/* The value that `share` of all are at most, in ticks. */
static uint64_t percentile(const struct histogram *histogram, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->count), seen = 0;
    for (size_t b = 0; b < BUCKETS; b++)
        if ((seen += histogram->of[b]) > wanted)
            return bucket_end(b) < histogram->most ? bucket_end(b) : histogram->most;
    return histogram->most;
}

static size_t random_size(uint64_t *random)
{
    uint64_t dice = random_next(random) >> 40;
    if (dice % 16)
        return random_between(random, 16, 512);
    if (dice % 256)
        return random_between(random, 513, 16384);
    if (dice % 16384)
        return random_between(random, 16385, 262144);
    return random_between(random, 262145, 1048576);
}

static struct block *make(struct times *times, uint64_t *random)
{
    size_t size = random_size(random);
    uint64_t start = ticks();
    struct block *block = malloc(size);
    record(&times->malloc, ticks() - start);
    if (!block)
        fail("latency: malloc(%zu) returned null", size);
    *block = (struct block){.size = size, .mark = size ^ MARK};
    return block;
}

static uint64_t drop(struct times *times, struct block *block)
{
    if (!block)
        return 0;
    uint64_t size = block->size;
    if ((block->size ^ MARK) != block->mark)
        fail("latency: a block was overwritten");
    uint64_t start = ticks();
    free(block);
    record(&times->free, ticks() - start);
    return size;
}

static void *visit(void *data)
{
    struct work *work = data;
    struct block *blocks[THREAD_BLOCKS];
    for (size_t i = 0; i < THREAD_BLOCKS; i++)
        blocks[i] = make(&work->times, &work->random);
    for (size_t i = 0; i < THREAD_BLOCKS; i++)
        work->check += drop(&work->times, blocks[i]);
    return NULL;
}

static void free_many(struct work *work)
{
    size_t first = random_between(&work->random, 0, work->slots - 1);
    for (size_t i = 0; i < BULK_BLOCKS && i < work->slots; i++) {
        struct block **place = &work->blocks[(first + i) % work->slots];
        work->check += drop(&work->times, *place);
        *place = NULL;
    }
}

static void *run(void *data)
{
    struct work *work = data;
    spread(work->index);
    for (size_t turn = 1; turn <= work->turns; turn++) {
        struct block **place = &work->blocks[random_between(&work->random, 0, work->slots - 1)];
        work->check += drop(&work->times, *place);
        *place = make(&work->times, &work->random);
        if (turn % 4 == 0)
            *place = atomic_exchange(&shared_blocks[turn / 4 % SHARED_SLOTS], *place);
        if (turn % BULK_EVERY == 0)
            free_many(work);
        if (turn % THREAD_EVERY == 0)   /* waits for it: the two share the histograms */
            pthread_join(start_thread(visit, work), NULL);
    }
    for (size_t i = 0; i < work->slots; i++)
        work->check += drop(&work->times, work->blocks[i]);
    return NULL;
}

/* The least time between two readings, which is what a call's time is too large by. */
static void measure_overhead(void)
{
    overhead_ticks = UINT64_MAX;
    for (size_t i = 0; i < CALIBRATIONS; i++) {
        uint64_t start = ticks(), elapsed = ticks() - start;
        overhead_ticks = elapsed < overhead_ticks ? elapsed : overhead_ticks;
    }
}

static void print_times(const char *name, const struct histogram *h, double ns_per_tick)
{
    static const struct { const char *name; double share; } shown[] = {
        {"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
    printf("%s:", name);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        printf(" %s %.0f ns,", shown[i].name, (double)percentile(h, shown[i].share) * ns_per_tick);
    printf(" max %.0f ns\n", (double)h->most * ns_per_tick);
}

int main(int argc, char **argv)
{
    static struct times sum;
    size_t threads = argument(argc, argv, 1, 2), turns = argument(argc, argv, 2, 3000000);
    size_t slots = argument(argc, argv, 3, 20000);
    struct work *works = calloc(threads, sizeof *works);
    pthread_t *ids = allocate(threads * sizeof *ids);
    if (!works)
        fail("latency: calloc returned null");
    measure_overhead();
    uint64_t check = 0, start_ns = now_ns(), start_ticks = ticks();
    for (size_t t = 0; t < threads; t++) {
        works[t].index = (unsigned)t;
        works[t].turns = turns;
        works[t].slots = slots;
        works[t].random = random_seed((unsigned)t);
        works[t].blocks = calloc(slots, sizeof *works[t].blocks);
        ids[t] = start_thread(run, &works[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        add(&sum.malloc, &works[t].times.malloc);
        add(&sum.free, &works[t].times.free);
        check += works[t].check;
        free(works[t].blocks);
    }
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        check += drop(&sum, shared_blocks[i]);
    double ns_per_tick = (double)(now_ns() - start_ns) / (double)(ticks() - start_ticks);
    print_times("malloc", &sum.malloc, ns_per_tick);
    print_times("free", &sum.free, ns_per_tick);
    report("latency", sum.malloc.count + sum.free.count, start_ns, check);
    free(ids);
    free(works);
    return 0;
}
