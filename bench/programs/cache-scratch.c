/*
 * cache-scratch: Berger's test of passive false sharing (Hoard, ASPLOS 2000).
 *
 * The main thread allocates one small block for each worker, in one cache line if it can. Each
 * worker frees the one it was given; an allocator that then gives it back to that very thread lets
 * it share a cache line with the other threads' blocks for good. Then each worker in turns
 * allocates a block, writes to it many times and frees it.
 *
 *   cache-scratch [threads 2] [turns per thread 500000] [block size 8] [writes to each byte 100]
 *
 * Prints the calls per second; the last value written to each block is checked.
 */
#include "writes.h"

int main(int argc, char **argv)
{
    return run_writers("cache-scratch", 1, argc, argv);
}
