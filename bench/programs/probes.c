/*
 * probes: how much memory stays resident in situations that tell allocators apart.
 *
 *   probes NAME      one probe in this process (each needs a fresh one); without NAME, the list
 *
 * Prints the anonymous resident memory of the process ("Anonymous" in /proc/self/smaps_rollup)
 * and how much of what the program asked for is live then; "holes" leaves out what was resident
 * before, and "realloc" adds milliseconds and moves of 64.
 */
#include "resident.h"
#include <stdatomic.h>

static const size_t MIB = 1024 * 1024;
static _Atomic uint64_t live_bytes;   /* of the lists of all threads */

/* Written-to blocks of the given sizes, linked in the order of allocation. */
struct link {
    struct link *next;
    size_t size;
};

static struct link *make_link(size_t size)
{
    struct link *block = allocate(size);
    memset(block, 0x55, size);
    *block = (struct link){.size = size};
    return block;
}

static struct link *allocate_sizes(size_t bytes, size_t smallest, size_t largest, unsigned seed)
{
    uint64_t random = random_seed(seed);
    struct link *first = NULL, **last = &first;
    for (size_t total = 0; total < bytes;) {
        size_t size = random_between(&random, smallest, largest);
        *last = make_link(size);
        last = &(*last)->next;
        total += size;
        live_bytes += size;
    }
    return first;
}

static struct link *allocate_list(size_t bytes, unsigned seed)
{
    return allocate_sizes(bytes, 16, 400, seed);
}

/*
 * The same with a larger block at the end, for when a list is freed at once: glibc looks for what
 * to give back only when 64 KiB or more become free together. Now that happens, and not by chance.
 */
static struct link *allocate_list_with_end(size_t bytes, unsigned seed)
{
    enum { END_BYTES = 100 * 1000 };
    struct link *first = allocate_list(bytes, seed), *last = first;
    while (last->next)
        last = last->next;
    last->next = make_link(END_BYTES);
    live_bytes += END_BYTES;
    return first;
}

static void free_list(struct link *first)
{
    while (first) {
        struct link *next = first->next;
        live_bytes -= first->size;
        free(first);
        first = next;
    }
}

static void small_calls(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        volatile char *block = allocate(16 + i % 100);
        *block = 1;
        free((void *)block);
    }
}

static pthread_barrier_t barrier;

static void *use_20_mb(void *index)
{
    struct link *list = allocate_list(20 * 1000 * 1000, (unsigned)(uintptr_t)index);
    pthread_barrier_wait(&barrier);
    free_list(list);
    return NULL;
}

static void four_threads_ended(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&barrier, NULL, 4);
    for (uintptr_t t = 0; t < 4; t++)
        threads[t] = start_thread(use_20_mb, (void *)t);
    for (size_t t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    sleep_ms(1500);
}

static void *allocate_59_mb(void *result)
{
    *(struct link **)result = allocate_list_with_end(59 * 1000 * 1000, 1);
    return NULL;
}

static void *free_it(void *list)
{
    free_list(list);
    return NULL;
}

static void freed_for_an_ended_thread(void)
{
    struct link *list = NULL;
    pthread_join(start_thread(allocate_59_mb, &list), NULL);
    pthread_join(start_thread(free_it, list), NULL);
}

static void *hold_1_mb(void *index)
{
    unsigned seed = (unsigned)(uintptr_t)index;
    struct link *list = allocate_list(1100 * 1000 / 5, seed);
    struct link *larger = allocate_sizes(1100 * 1000 / 5 * 4, 400, 4000, 1000 + seed);
    pthread_barrier_wait(&barrier);   /* all hold their blocks: measured between the two */
    pthread_barrier_wait(&barrier);
    free_list(list);
    free_list(larger);
    return NULL;
}

static void print_now(void)
{
    print_resident("now", anonymous_kib(), live_bytes);
}

static void probe_nothing(void)
{
    print_now();
}

static void probe_one_malloc(void)
{
    *(volatile char *)allocate(100) = 1;
    live_bytes += 100;
    print_now();
}

static void probe_threads_ended(void)
{
    four_threads_ended();
    print_now();
}

static void probe_threads_ended_then_calls(void)
{
    four_threads_ended();
    small_calls(2000);
    print_now();
}

static void probe_idle_calls(void)
{
    free_list(allocate_list_with_end(100 * 1000 * 1000, 0));
    for (int i = 0; i < 30; i++) {
        sleep_ms(50);
        small_calls(1);
    }
    print_now();
}

static void probe_idle(void)
{
    free_list(allocate_list_with_end(100 * 1000 * 1000, 0));
    sleep_ms(1500);
    print_now();
}

static void probe_reuse_half(void)
{
    free_list(allocate_list_with_end(100 * 1000 * 1000, 0));
    struct link *list = allocate_list(50 * 1000 * 1000, 1);
    sleep_ms(1500);
    print_now();
    free_list(list);
}

static void probe_orphans_freed(void)
{
    freed_for_an_ended_thread();
    print_now();
}

static void probe_orphans_reused(void)
{
    freed_for_an_ended_thread();
    struct link *list = NULL;
    pthread_join(start_thread(allocate_59_mb, &list), NULL);
    print_now();
    free_list(list);
}

static void probe_calloc_untouched(void)
{
    volatile char *block = calloc(64 * MIB + 1, 1);
    if (!block || block[0])
        fail("calloc failed or was not zero");
    live_bytes += 64 * MIB + 1;
    print_now();
    free((void *)block);
}

static void probe_many_threads(void)
{
    enum { THREADS = 32 };
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uintptr_t t = 0; t < THREADS; t++)
        threads[t] = start_thread(hold_1_mb, (void *)t);
    pthread_barrier_wait(&barrier);
    print_now();
    pthread_barrier_wait(&barrier);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* Ten phases of 20 MB in growing sizes, of which an eighth survives. */
static void probe_holes(void)
{
    enum { PHASES = 10, PHASE_BYTES = 20 * 1000 * 1000, SMALLEST = 24 };
    static struct link *phase_blocks[PHASE_BYTES / SMALLEST];
    uint64_t random = random_seed(0);
    size_t before = anonymous_kib();
    for (size_t phase = 0, size = SMALLEST; phase < PHASES; phase++, size += size / 2) {
        size_t count = PHASE_BYTES / size;
        for (size_t i = 0; i < count; i++) {
            phase_blocks[i] = allocate(size);
            memset(phase_blocks[i], 0x55, size);
        }
        for (size_t i = 0; i < count; i++) {
            if (random_next(&random) >> 61)
                free(phase_blocks[i]);
            else
                live_bytes += size;
        }
    }
    size_t table = sizeof phase_blocks / 1024;   /* all of it was written to */
    print_resident("added", anonymous_kib() - before - table, live_bytes);
}

static void probe_realloc(void)
{
    uint64_t start_ns = now_ns();
    size_t moves = 0, size = MIB;
    char *block = allocate(size);
    memset(block, 1, size);
    for (size_t step = 0; step < 64; step++) {
        size_t grown = size + 4 * MIB < 256 * MIB ? size + 4 * MIB : 256 * MIB;
        uintptr_t old = (uintptr_t)block;
        block = realloc(block, grown);
        if (!block)
            fail("realloc(%zu) returned null", grown);
        moves += (uintptr_t)block != old;
        memset(block + size, 1, grown - size);
        size = grown;
    }
    double milliseconds = (double)(now_ns() - start_ns) / 1e6;
    live_bytes += size;
    print_now();
    printf("took %.0f ms, moves %zu of 64\n", milliseconds, moves);
    free(block);
}

static const struct probe {
    const char *name;
    void (*run)(void);
    const char *what;
} probes[] = {
    {"nothing", probe_nothing, "no malloc at all"},
    {"one-malloc", probe_one_malloc, "one malloc"},
    {"threads-ended", probe_threads_ended,
     "4 threads allocated 20 MB each, freed all, ended; 1.5 s later"},
    {"threads-ended-calls", probe_threads_ended_then_calls, "the same, and 2,000 small calls more"},
    {"idle", probe_idle, "one thread freed 100 MB, then nothing for 1.5 s"},
    {"idle-calls", probe_idle_calls,
     "one thread freed 100 MB, then a call every 50 ms for 1.5 s"},
    {"reuse-half", probe_reuse_half,
     "one thread freed 100 MB and allocated half as much; 1.5 s later"},
    {"orphans-freed", probe_orphans_freed,
     "a thread allocated 59 MB and ended, another freed it"},
    {"orphans-reused", probe_orphans_reused, "and then allocated as much again"},
    {"calloc-untouched", probe_calloc_untouched, "calloc of 64 MiB and a byte, untouched"},
    {"many-threads", probe_many_threads, "32 threads with 1.1 MB each"},
    {"holes", probe_holes, "holes of changing sizes"},
    {"realloc", probe_realloc, "realloc 1 to 256 MiB by 4 MiB"},
};

int main(int argc, char **argv)
{
    size_t count = sizeof probes / sizeof probes[0];
    for (size_t i = 0; i < count; i++) {
        if (argc < 2)
            printf("%s\t%s\n", probes[i].name, probes[i].what);
        else if (strcmp(argv[1], probes[i].name) == 0)
            return probes[i].run(), 0;
    }
    if (argc >= 2)
        fail("no probe named %s", argv[1]);
    return 0;
}
