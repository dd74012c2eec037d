/* What the benchmark programs share: a small generator, a clock, checked allocation, threads. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#define _Noreturn [[noreturn]]
#endif

/*
 * The last member of what a thread keeps writing to, where such structures lie side by side: keeps
 * them off each other's cache lines, wherever the allocator puts them.
 */
#define APART char apart[128]

/* A 64-bit xorshift-multiply generator; the state is any non-zero number. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number from low to high, both included. */
static inline size_t random_between(uint64_t *state, size_t low, size_t high)
{
    return low + (size_t)((random_next(state) >> 33) % (high - low + 1));
}

/* A starting state for thread number `index`, never zero. */
static inline uint64_t random_seed(unsigned index)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15) * (index + 1);
    random_next(&state);
    return state | 1;
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

_Noreturn static inline void fail(const char *message, ...)
{
    va_list arguments;
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static inline void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        fail("malloc(%zu) returned null", size);
    return block;
}

/* Argument `index` as a number of at least 1, or `otherwise` if it is not there. */
static inline size_t argument(int argc, char **argv, int index, size_t otherwise)
{
    if (index >= argc)
        return otherwise;
    char *end;
    unsigned long long value = strtoull(argv[index], &end, 10);
    if (*end || end == argv[index] || value == 0)
        fail("%s: argument %d is not a positive number: %s", argv[0], index, argv[index]);
    return (size_t)value;
}

static inline pthread_t start_thread(void *(*body)(void *), void *data)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, data);
    if (error)
        fail("pthread_create: %s", strerror(error));
    return thread;
}

/*
 * Moves the calling thread to processor number `index` of those we may use, and lets it move from
 * there as it likes. Without this a scheduler may leave all threads of a short run on one
 * processor.
 */
static inline void spread(size_t index)
{
#ifdef __linux__
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all))
        return;
    size_t skip = index % (size_t)CPU_COUNT(&all);
    int processor = 0;
    while (!CPU_ISSET(processor, &all) || skip--)
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
#else
    (void)index;
#endif
}

/* The result line: one per program. `operations` counts calls of malloc plus calls of free. */
static inline void report(const char *name, uint64_t operations, uint64_t start_ns, uint64_t check)
{
    double seconds = (double)(now_ns() - start_ns) / 1e9;
    printf("%s: %.3f s, %.2f M ops/s, %llu ops, check %016llx\n", name, seconds,
           (double)operations / seconds / 1e6, (unsigned long long)operations,
           (unsigned long long)check);
}

#endif
