/*
 * growth: one block grown by realloc, from 1 MiB to 256 MiB in steps of 4 MiB, several times.
 *
 * The new part is written after each step, as a vector or a file reader does. Shows whether large
 * blocks grow in place or are moved by the kernel, instead of being copied.
 *
 *   growth [times 8] [step MiB 4] [last MiB 256]
 *
 * Prints the calls per second and how often the block moved, of how many steps.
 */
#include "common.h"

enum { PAGE_BYTES = 4096 };
static const size_t MIB = 1024 * 1024;

static void write_pages(unsigned char *bytes, size_t from, size_t to)
{
    for (size_t offset = from; offset < to; offset += PAGE_BYTES)
        bytes[offset] = (unsigned char)(offset / MIB + 1);
}

static uint64_t check_pages(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t offset = 0; offset < size; offset += PAGE_BYTES) {
        if (bytes[offset] != (unsigned char)(offset / MIB + 1))
            fail("growth: the content was lost at byte %zu", offset);
        sum += bytes[offset];
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t times = argument(argc, argv, 1, 8), step = argument(argc, argv, 2, 4) * MIB;
    size_t last = argument(argc, argv, 3, 256) * MIB;
    uint64_t moves = 0, steps = 0, check = 0, start_ns = now_ns();
    for (size_t i = 0; i < times; i++) {
        size_t size = MIB;
        unsigned char *bytes = allocate(size);
        write_pages(bytes, 0, size);
        while (size < last) {
            size_t grown = size + step < last ? size + step : last;
            uintptr_t before = (uintptr_t)bytes;
            bytes = realloc(bytes, grown);
            if (!bytes)
                fail("realloc(%zu) returned null", grown);
            moves += (uintptr_t)bytes != before;
            steps++;
            write_pages(bytes, size, grown);
            size = grown;
        }
        check += check_pages(bytes, size);
        free(bytes);
    }
    printf("moves %llu of %llu; ", (unsigned long long)moves, (unsigned long long)steps);
    report("growth", steps + 2 * times, start_ns, check);
    return 0;
}
