// builds: hardened
/* A hardened build clears what is freed and hands it out later, fresh blocks come in no order, free
 * memory has no address of a block in it, behind spans there is no access where the system has a
 * way for that, and what is written to a free block is found. */
#include "names.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { COUNT = 1000, SIZE = 200 };
static unsigned char *blocks[COUNT];

static void take_all(size_t size) {
  for (int i = 0; i < COUNT; i++) blocks[i] = opaque(malloc(size));
}

static void free_all(void) {
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
}

static void a_freed_block_is_cleared_and_not_the_next_one(void) {
  for (int turn = 0; turn < 100; turn++) {
    unsigned char *block = opaque(malloc(SIZE));
    memset(block, 0xab, SIZE);
    free(block);
    unsigned char *other = opaque(malloc(SIZE));
    CHECK(other != block);
    for (int i = 0; i < SIZE; i++) CHECK_EQ(block[i], 0);
    free(other);
  }
}

static void fresh_blocks_come_in_no_order(void) {
  int ascending = 0;
  take_all(48);
  for (int i = 1; i < COUNT; i++) ascending += blocks[i] > blocks[i - 1];
  CHECK_THAT(ascending, <, COUNT * 3 / 4);
  free_all();
}

static void free_memory_has_no_address_of_a_block(void) {
  take_all(SIZE);
  uintptr_t lowest = UINTPTR_MAX, highest = 0;
  for (int i = 0; i < COUNT; i++) {
    if ((uintptr_t)blocks[i] < lowest) lowest = (uintptr_t)blocks[i];
    if ((uintptr_t)blocks[i] > highest) highest = (uintptr_t)blocks[i];
  }
  free_all();
  int linked = 0;
  for (int i = 0; i < COUNT; i++) {
    uintptr_t word = ((volatile uintptr_t *)blocks[i])[0];
    CHECK(word < lowest || word > highest);
    linked += word != 0;
  }
  CHECK_THAT(linked, >, COUNT / 2);
}

/* The signal that ends a child. */
static int signal_of(void (*function)(void)) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    close(2);
    function();
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void write_on_and_on(void) {
  volatile unsigned char *block = opaque(malloc(SIZE));
  for (size_t i = 0; i < 64 * KIB; i++) block[i] = 1;
}

static void write_after_free(void) {
  volatile unsigned char *block = opaque(malloc(SIZE));
  free((void *)block);
  block[SIZE / 2] = 1;
  for (int i = 0; i < COUNT; i++) free(opaque(malloc(SIZE)));
}

static int system_has_guards(void) {
  void *page = mmap(NULL, 64 * KIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && madvise(page, 64 * KIB, 102 /* MADV_GUARD_INSTALL */) == 0;
}

int main(void) {
  for (int i = 0; i < COUNT; i++) opaque(malloc(SIZE)); /* the first ones are guarded blocks */
  a_freed_block_is_cleared_and_not_the_next_one();
  fresh_blocks_come_in_no_order();
  free_memory_has_no_address_of_a_block();
  CHECK_EQ(signal_of(write_after_free), SIGABRT);
  if (system_has_guards()) CHECK_EQ(signal_of(write_on_and_on), SIGSEGV);
  else printf("this system has no pages to guard spans with\n");
  return 0;
}
