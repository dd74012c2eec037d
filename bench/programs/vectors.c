/*
 * vectors: vectors of many lengths that grow by a half each time, as programs build them.
 *
 * Each thread has 64 of them, lets one at random grow by realloc and writes the new part; one that
 * has come to the limit is freed and begins anew. Shows what it costs to grow blocks of any size
 * for hours: copies, page faults, calls of the kernel.
 *
 *   vectors [threads 2] [growths of each 50000] [limit KiB 4096]
 *
 * Prints the calls per second; the first and last byte of each vector are checked.
 */
#include "common.h"

enum { VECTORS = 64, FIRST_BYTES = 32, PAGE_BYTES = 4096 };
static size_t growths, limit_bytes;

struct vector {
    unsigned char *bytes;
    size_t size;
};

static unsigned char mark_of(size_t size)
{
    return (unsigned char)(size * 131 >> 4);
}

static void check_vector(const struct vector *vector)
{
    if (vector->size && (vector->bytes[0] != 1 ||
                         vector->bytes[vector->size - 1] != mark_of(vector->size)))
        fail("vectors: the content of %zu bytes was lost", vector->size);
}

static void grow(struct vector *vector, size_t size)
{
    vector->bytes = realloc(vector->bytes, size);
    if (!vector->bytes)
        fail("realloc(%zu) returned null", size);
    for (size_t offset = vector->size; offset < size; offset += PAGE_BYTES)
        vector->bytes[offset] = 1;
    vector->bytes[size - 1] = mark_of(size);
    vector->size = size;
}

static void drop(struct vector *vector)
{
    free(vector->bytes);
    *vector = (struct vector){NULL, 0};
}

static void *run(void *index)
{
    struct vector vectors[VECTORS] = {{NULL, 0}};
    uint64_t random = random_seed((unsigned)(uintptr_t)index);
    for (size_t i = 0; i < growths; i++) {
        struct vector *vector = &vectors[random_next(&random) % VECTORS];
        check_vector(vector);
        size_t size = vector->size ? vector->size + vector->size / 2 : FIRST_BYTES;
        if (size <= limit_bytes)
            grow(vector, size);
        else
            drop(vector);
    }
    for (size_t i = 0; i < VECTORS; i++)
        drop(&vectors[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argument(argc, argv, 1, 2);
    growths = argument(argc, argv, 2, 50000);
    limit_bytes = argument(argc, argv, 3, 4096) * 1024;
    pthread_t *ids = allocate(threads * sizeof *ids);
    uint64_t start_ns = now_ns();
    for (size_t i = 0; i < threads; i++)
        ids[i] = start_thread(run, (void *)(uintptr_t)i);
    for (size_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    report("vectors", threads * growths, start_ns, 0);
    free(ids);
    return 0;
}
