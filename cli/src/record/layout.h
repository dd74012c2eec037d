/* The memory that the recorder in a program and the command share: one file in memory, with a page
 * of common words, a header for each ring, and the rings. ring.rs has the same numbers.
 *
 * A ring belongs to one thread at a time. The thread writes words and then `head`, the command
 * reads words and then writes `tail`: nobody waits for anybody while there is room. */
#ifndef LOAM_RECORD_LAYOUT_H
#define LOAM_RECORD_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define RECORD_MAGIC 0x3164726f63657231u
#define RECORD_VARIABLE "LOAM_RECORD"
#define RING_COUNT 1024
#define RING_BYTES (1u << 20)
#define RING_WORDS (RING_BYTES / sizeof(uint64_t))
#define HEADERS_OFFSET 4096
#define HEADER_BYTES 256
#define FRAMES_MAX 64
/* Ring I is at RING_BYTES * (I + 1). */
#define SHARED_BYTES ((uint64_t)RING_BYTES * (RING_COUNT + 1))

/* The command writes what is not atomic before there is a program. */
struct record_common {
  uint64_t magic;
  uint64_t start;       /* of the counter */
  uint32_t command;     /* its process */
  uint32_t program;     /* the process that is recorded; 0: its children, too */
  uint32_t has_counter; /* whether the processor's counter runs evenly; else the clock is read */
  uint32_t frames;      /* at most so many calls of a stack; 0: no stacks */
  _Atomic(uint32_t) stop;     /* the command writes it: nothing is recorded any longer */
  _Atomic(uint32_t) images;   /* the programs count themselves */
  _Atomic(uint32_t) rings;    /* one more than the highest ring ever used; threads raise it */
  _Atomic(uint32_t) refused;  /* threads that found no ring */
  _Atomic(uint32_t) left_out; /* processes that are not to be recorded */
};

enum ring_state { RING_FREE, RING_CLAIMED, RING_USED };
enum ending { RUNS, WAITS_TO_BE_LOOKED_AT, IS_LOOKED_AT };

/* Each group is on a cache line of its own. */
struct record_header {
  _Atomic(uint32_t) state; /* the thread claims and uses it, the command frees it */
  uint32_t image, process, thread;
  _Atomic(uint32_t) ending; /* of the process: it waits, and the command has looked at its memory */
  char pad0[44];
  _Atomic(uint64_t) head; /* words ever written; by the thread */
  _Atomic(uint64_t) time; /* the last one in the ring, or about to be in it; by the thread */
  char pad1[48];
  _Atomic(uint64_t) tail; /* words ever read; by the command */
  char pad2[120];
};

/* The first word of an event: kind, function << 4, address << 16. A time is that of all events from
 * there on. What follows: */
enum record_kind {
  RECORD_TIME = 1, /* (its word: kind, counter << 4) */
  RECORD_TAKE,     /* size | (power of two of the alignment + 1) << 56, stack */
  RECORD_GIVE,     /* address 0: of the block that the thread has detached */
  RECORD_DETACH,   /* of a block that is being resized */
  RECORD_ATTACH,   /* address 0: it stays as it was; size, stack */
  RECORD_TOUCHED,  /* bytes */
  RECORD_MAP,      /* by the program itself, private and anonymous; bytes */
  RECORD_UNMAP,    /* or mapped to something else; bytes */
};
/* A stack, where there are any: the number of its calls, and their addresses. */

#endif
