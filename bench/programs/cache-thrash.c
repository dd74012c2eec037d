/*
 * cache-thrash: Berger's test of active false sharing (Hoard, ASPLOS 2000).
 *
 * Threads in turns allocate a small block, write to it many times and free it. An allocator that
 * gives blocks of one cache line to two threads makes the line travel between their processors
 * with every write.
 *
 *   cache-thrash [threads 2] [turns per thread 500000] [block size 8] [writes to each byte 100]
 *
 * Prints the calls per second; the last value written to each block is checked.
 */
#include "writes.h"

int main(int argc, char **argv)
{
    return run_writers("cache-thrash", 0, argc, argv);
}
