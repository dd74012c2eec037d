/* What probes and phases share: this process's resident memory, and sleeping. */
#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include "common.h"
#include <fcntl.h>
#include <unistd.h>

/* Anonymous resident KiB; reads without malloc, so that measuring does not change the result. */
static inline size_t anonymous_kib(void)
{
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (length <= 0)
        fail("cannot read /proc/self/smaps_rollup");
    close(file);
    text[length] = 0;
    const char *line = strstr(text, "\nAnonymous:");
    if (!line)
        fail("no line Anonymous in /proc/self/smaps_rollup");
    return (size_t)strtoull(line + sizeof "\nAnonymous:" - 1, NULL, 10);
}

static inline void sleep_ms(size_t milliseconds)
{
    struct timespec t = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* A figure of probes and phases; `live_bytes`: requested by the program and not freed. */
static inline void print_resident(const char *what, size_t resident_kib, uint64_t live_bytes)
{
    printf("%s: resident %zu KiB, live %llu KiB\n", what, resident_kib,
           (unsigned long long)((live_bytes + 1023) / 1024));
}

#endif
