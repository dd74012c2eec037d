/*
 * Allocates known amounts; limits.py checks what the limits in bench/limits make of them.
 *
 *   known HOW BYTES    holds BYTES at its peak, all written to; calls, threads, fork, killed
 *   known bump 0       passes only where memory is never used twice and ends at 6 GiB
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 8, THREADS = 4, BLOCKS = 100 };

static size_t peak_bytes;
static pthread_barrier_t barrier;

static void check(int condition, int status)
{
    if (!condition)
        _exit(status);
}

static void fill(unsigned char *block, size_t size, size_t alignment)
{
    check(block && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= size, 2);
    memset(block, 0xa5, size);
}

/* Every kind of call, an eighth of the peak each; then half of it again, which is no peak. */
static void use_calls(void)
{
    size_t part = peak_bytes / PARTS;
    void *blocks[PARTS];
    blocks[0] = malloc(part);
    unsigned char *zero = blocks[1] = calloc(part / 2, 2);
    for (size_t i = 0; zero && i < part; i++)
        check(zero[i] == 0, 3);
    blocks[2] = memset(malloc(10), 1, 10);
    blocks[2] = realloc(blocks[2], part);
    check(blocks[2] && ((char *)blocks[2])[9] == 1, 4);
    blocks[3] = aligned_alloc(64, part);
    check(posix_memalign(&blocks[4], 4096, part) == 0, 5);
    blocks[5] = realloc(memalign(256, 2 * part), part);
    blocks[6] = reallocarray(NULL, part / 4, 4);
    blocks[7] = valloc(part);
    static const size_t alignments[PARTS] = {16, 16, 16, 64, 4096, 16, 16, 4096};
    for (size_t i = 0; i < PARTS; i++)
        fill(blocks[i], part, alignments[i]);
    for (size_t i = 0; i < PARTS; i++)
        free(blocks[i]);
    void *again = malloc(peak_bytes / 2);
    fill(again, peak_bytes / 2, 16);
    free(again);
}

static void *use_share(void *unused)
{
    size_t size = peak_bytes / THREADS / BLOCKS;
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        fill(blocks[i] = malloc(size), size, 16);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return unused;
}

static void use_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t t = 0; t < THREADS; t++)
        check(pthread_create(&threads[t], NULL, use_share, NULL) == 0, 6);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void use_in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        use_calls();
        _exit(0);
    }
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, 7);
}

static void use_and_be_killed(void)
{
    fill(malloc(peak_bytes), peak_bytes, 16);
    raise(SIGKILL);
}

static void need_bump(void)
{
    enum { LIMIT_GIB = 6 };
    void *first = malloc(100), *freed = first;
    free(first);
    void *second = malloc(100);
    check(second != freed, 8);
    size_t count = 0;
    errno = 0;
    for (; count <= LIMIT_GIB && malloc((size_t)1 << 30); count++)
        continue;
    check(count > 0 && count < LIMIT_GIB + 1 && errno == ENOMEM, 9);
    volatile size_t huge = SIZE_MAX;   /* so that the compiler does not warn */
    check(!malloc(huge) && !calloc(huge / 2, 3) && malloc(100), 10);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*use)(void);
    } ways[] = {{"calls", use_calls}, {"threads", use_threads}, {"fork", use_in_child},
                {"killed", use_and_be_killed}, {"bump", need_bump}};
    peak_bytes = argc == 3 ? (size_t)atol(argv[2]) : 0;
    for (size_t i = 0; argc == 3 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].use(), 0;
    return 64;
}
