/* Does what a recording says, as fast as it can: replayer FILE, which prepare.rs has written.
 *
 * The file: struct head, a struct stream for each thread, and their words. A word is an operation:
 *
 *   bits 0-4 what, bit 4 of these: the pages to touch stand in a word behind it
 *   bits 5-31 the slot that the block is in
 *   bits 32-63 the size; all set: in a word behind it
 *
 * Its own memory is not the allocator's: from mmap, as much as prepare.rs says, all of it touched
 * before the first operation. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum what {
  TAKE,    /* malloc */
  CLEARED, /* calloc */
  ALIGNED, /* aligned_alloc; the alignment stands in a word behind it */
  RESIZE,  /* realloc */
  GIVE,    /* free */
  START,   /* the thread of that number */
  MARK,    /* others may wait for what is done so far */
  WAIT,    /* until the thread of that number has made as many marks as a word behind it says */
  HOLD,    /* so many bytes beside the allocator, as a word behind it says */
};
#define WITH_PAGES 16
#define WHAT_MASK 15
#define NUMBER(word) ((word) >> 5 & 0x7ffffff)
#define SIZE_FOLLOWS 0xffffffffu
#define PAGE_BYTES 4096
#define BUFFER_WORDS 4096
#define STACK_BYTES (128 * 1024)

struct head {
  uint64_t magic, threads, slots;
  uint64_t elsewhere_bytes; /* in the program's memory, of files and stacks */
  uint64_t mapped_bytes;    /* the most that it holds beside these */
};
#define MAGIC 0x31796c706572u

struct stream {
  uint64_t offset, words; /* in the file */
};

/* A thread of the recording. On a cache line of its own: others read the marks. */
struct actor {
  _Alignas(64) _Atomic(uint32_t) marks;
  _Atomic(uint32_t) waiting; /* others that sleep until there are more */
  uint64_t next, end; /* in the file, in bytes */
  uint64_t *buffer;
  size_t at, filled;
};

static int file;
static struct actor *actors;
static char **slots;
static _Atomic(uint64_t) running;

static void fail(const char *what) {
  perror(what);
  _exit(2);
}

static size_t whole_pages(size_t bytes) {
  return (bytes + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
}

static void *own_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return memory;
}

static void read_all(void *place, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count = pread(file, (char *)place + done, bytes - done, (off_t)(offset + done));
    if (count <= 0) fail("read");
    done += (size_t)count;
  }
}

static void fill(struct actor *actor) {
  uint64_t left = actor->end - actor->next;
  size_t bytes = left < BUFFER_WORDS * 8 ? left : BUFFER_WORDS * 8;
  read_all(actor->buffer, bytes, actor->next);
  actor->next += bytes;
  actor->at = 0;
  actor->filled = bytes / 8;
}

static inline uint64_t take_word(struct actor *actor) {
  if (__builtin_expect(actor->at == actor->filled, 0)) fill(actor);
  return actor->buffer[actor->at++];
}

static void mark(struct actor *actor) {
  atomic_fetch_add(&actor->marks, 1);
  if (atomic_load(&actor->waiting) > 0)
    syscall(SYS_futex, &actor->marks, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void wait_for(struct actor *other, uint64_t marks) {
  for (unsigned tries = 0; tries < 100; tries++)
    if (atomic_load(&other->marks) >= marks) return;
  atomic_fetch_add(&other->waiting, 1);
  for (uint32_t made; (made = atomic_load(&other->marks)) < marks;)
    syscall(SYS_futex, &other->marks, FUTEX_WAIT_PRIVATE, made, NULL, NULL, 0);
  atomic_fetch_sub(&other->waiting, 1);
}

/* Writes to each page of a part of the block, counted from its begin, and to the end of it. */
static void touch(char *block, size_t from, size_t to) {
  if (from >= to) return;
  for (size_t at = from; at < to; at += PAGE_BYTES) block[at] = 1;
  block[to - 1] = 1;
}

/* ---- What is in the program's memory and no allocator's ---- */

static char *held;
static size_t held_bytes;

/* No two threads hold at once: the recording has these in an order, too. */
static void hold(size_t bytes) {
  bytes = whole_pages(bytes);
  if (bytes < held_bytes) madvise(held + bytes, held_bytes - bytes, MADV_DONTNEED);
  else touch(held, held_bytes, bytes);
  held_bytes = bytes;
}

/* The resident bytes that a line of /proc/self/smaps adds: of what is a file's or the stack. */
static size_t resident_in(const char *line, bool *is_elsewhere) {
  if (strncmp(line, "Rss:", 4) == 0)
    return *is_elsewhere ? strtoul(line + 4, NULL, 10) * 1024 : 0;
  size_t word = strcspn(line, " ");
  if (memchr(line, '-', word) != NULL)
    *is_elsewhere = strchr(line, '/') != NULL || strstr(line, "[stack]") != NULL;
  return 0;
}

/* What it has of these itself. */
static size_t own_elsewhere(void) {
  static char text[1 << 16];
  size_t filled = 0, bytes = 0;
  bool is_elsewhere = false;
  int smaps = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (smaps < 0) return 0;
  for (ssize_t got; (got = read(smaps, text + filled, sizeof text - 1 - filled)) > 0;) {
    filled += (size_t)got;
    text[filled] = 0;
    char *line = text;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = 0;
      bytes += resident_in(line, &is_elsewhere);
    }
    filled = strlen(line);
    memmove(text, line, filled);
  }
  close(smaps);
  return bytes;
}

/* As much as the program had, so that the peak is a program's. */
static void begin_to_hold(const struct head *head) {
  size_t bytes = whole_pages(head->mapped_bytes);
  held = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
              0);
  if (held == MAP_FAILED) fail("mmap");
  size_t own = own_elsewhere();
  if (head->elsewhere_bytes > own) (void)own_memory(whole_pages(head->elsewhere_bytes - own));
}

static void *act(void *argument);

static void start(struct actor *actor) {
  pthread_attr_t attributes;
  pthread_t thread;
  atomic_fetch_add(&running, 1);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  if (pthread_create(&thread, &attributes, act, actor) != 0) fail("pthread_create");
  pthread_attr_destroy(&attributes);
}

static void take(struct actor *actor, uint64_t word, unsigned what) {
  char **slot = &slots[NUMBER(word)];
  size_t size = word >> 32;
  if (size == SIZE_FOLLOWS) size = take_word(actor);
  size_t from = 0, to = size;
  char *block;
  switch (what) {
  case TAKE: block = malloc(size); break;
  case CLEARED: block = calloc(1, size); break;
  case ALIGNED: block = aligned_alloc(take_word(actor), size); break;
  default: block = realloc(*slot, size); break;
  }
  if (word & WITH_PAGES) {
    uint64_t pages = take_word(actor);
    from = (size_t)(uint32_t)pages * PAGE_BYTES;
    to = (size_t)(pages >> 32) * PAGE_BYTES;
    if (to > size) to = size;
  }
  if (block == NULL && size > 0) fail("malloc");
  if (block != NULL) touch(block, from, to);
  *slot = block;
}

static void give(char **slot) {
  if (*slot != NULL) (void)*(volatile char *)*slot;
  free(*slot);
}

static void operate(struct actor *actor) {
  uint64_t word = take_word(actor);
  unsigned what = word & WHAT_MASK, number = NUMBER(word);
  switch (what) {
  case GIVE: give(&slots[number]); break;
  case START: start(&actors[number]); break;
  case MARK: mark(actor); break;
  case WAIT: wait_for(&actors[number], take_word(actor)); break;
  case HOLD: hold(take_word(actor)); break;
  default: take(actor, word, what);
  }
}

static void *act(void *argument) {
  struct actor *actor = argument;
  actor->buffer = own_memory(BUFFER_WORDS * 8);
  while (actor->next < actor->end || actor->at < actor->filled) operate(actor);
  munmap(actor->buffer, BUFFER_WORDS * 8);
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static void read_streams(uint64_t threads) {
  size_t bytes = whole_pages(threads * sizeof(struct stream));
  struct stream *streams = own_memory(bytes);
  read_all(streams, threads * sizeof *streams, sizeof(struct head));
  for (uint64_t at = 0; at < threads; at++) {
    actors[at].next = streams[at].offset;
    actors[at].end = streams[at].offset + streams[at].words * 8;
  }
  munmap(streams, bytes);
}

int main(int count, char **words) {
  struct head head;
  file = count == 2 ? open(words[1], O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) fail("open");
  read_all(&head, sizeof head, 0);
  if (head.magic != MAGIC) return 2;
  actors = own_memory(whole_pages(head.threads * sizeof *actors));
  slots = own_memory(whole_pages(head.slots * sizeof *slots));
  read_streams(head.threads);
  begin_to_hold(&head);
  if (head.threads > 0) {
    atomic_store(&running, 1);
    act(&actors[0]);
    while (atomic_load(&running) > 0) usleep(100);
  }
  _exit(0);
}
