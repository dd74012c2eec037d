/*
 * lognormal: what memory costs beyond what is live, with sizes as programs have them.
 *
 * Fills a table with blocks whose sizes are distributed lognormally, replaces them at random, and
 * then frees half of them at random and fills the table again with sizes of another median. Shows
 * what rounding, and free memory among blocks in use, cost.
 *
 *   lognormal [entries 200000] [replacements 4000000] [median 200] [spread in hundredths 100]
 *
 * The spread is that of the sizes' logarithm. Prints at the end of each phase the anonymous
 * resident memory, what is live, and the one by the other.
 */
#include "resident.h"

enum { ENTRIES_MAX = 4000000, SMALLEST = 1, LARGEST = 1 << 20 };

static struct entry {
    unsigned char *block;
    size_t size;
} entries[ENTRIES_MAX];
static size_t entry_count, replacement_count, base_kib;
static double median, spread_of_logarithm;
static uint64_t state, operations, check, live_bytes;

/* e^x, by squaring: there need be no library for it. */
static double exponential(double x)
{
    double y = x / 1024, power = 1 + y + y * y / 2;
    for (int i = 0; i < 10; i++)
        power *= power;
    return power;
}

/* The sum of twelve uniform ones is nearly a normal one. */
static size_t random_size(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(&state) >> 11) / (double)(UINT64_C(1) << 53);
    double size = median * exponential(spread_of_logarithm * sum);
    return size < SMALLEST ? SMALLEST : size > LARGEST ? LARGEST : (size_t)size;
}

static void drop(struct entry *entry)
{
    if (!entry->block)
        return;
    if (entry->block[0] != (unsigned char)entry->size)
        fail("lognormal: a block was overwritten");
    live_bytes -= entry->size;
    free(entry->block);
    entry->block = NULL;
    operations++;
}

static void replace(struct entry *entry)
{
    drop(entry);
    entry->size = random_size();
    entry->block = allocate(entry->size);
    memset(entry->block, (int)(unsigned char)entry->size, entry->size);
    live_bytes += entry->size;
    check += entry->size;
    operations++;
}

static void print_phase(const char *name)
{
    size_t kib = anonymous_kib() - base_kib;
    print_resident(name, kib, live_bytes);
    printf("%s: %.3f of live\n", name, (double)kib * 1024 / (double)live_bytes);
}

int main(int argc, char **argv)
{
    entry_count = argument(argc, argv, 1, 200000);
    replacement_count = argument(argc, argv, 2, 4000000);
    median = (double)argument(argc, argv, 3, 200);
    spread_of_logarithm = (double)argument(argc, argv, 4, 100) / 100;
    if (entry_count > ENTRIES_MAX)
        fail("lognormal: at most %d entries", ENTRIES_MAX);
    state = random_seed(0);
    memset(entries, 0xff, entry_count * sizeof entries[0]); /* the table is none of the heap's */
    memset(entries, 0, entry_count * sizeof entries[0]);
    base_kib = anonymous_kib();
    uint64_t start_ns = now_ns();
    for (size_t i = 0; i < entry_count; i++)
        replace(&entries[i]);
    print_phase("filled");
    for (size_t i = 0; i < replacement_count; i++)
        replace(&entries[random_between(&state, 0, entry_count - 1)]);
    print_phase("replaced");
    for (size_t i = 0; i < entry_count; i++)
        if (random_next(&state) >> 63)
            drop(&entries[i]);
    print_phase("halved");
    median *= 1.5;
    for (size_t i = 0; i < entry_count; i++)
        if (!entries[i].block)
            replace(&entries[i]);
    print_phase("refilled");
    report("lognormal", operations, start_ns, check);
    return 0;
}
