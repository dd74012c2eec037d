// builds: checking hardened
// cost: 2
/* A block of no bytes has an address of its own, where nothing can be read or written, and which is
 * not the next one's when it is free; so many as a program likes can be in use. */
#include "names.h"

#include <signal.h>
#include <sys/wait.h>

static void *block;

/* The signal that ends a child; 0: none. */
static int signal_of(void (*function)(void)) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    function();
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_it(void) { (void)*(volatile char *)block; }
static void write_it(void) { *(volatile char *)block = 1; }
static void free_it_twice(void) {
  free(block);
  free(opaque(block));
}
static void resize_it_freed(void) {
  free(block);
  free(realloc(opaque(block), 1));
}

static void check_access(void *taken) {
  block = taken;
  CHECK(block != NULL);
  CHECK_EQ(malloc_usable_size(block), 0);
  CHECK_EQ(signal_of(read_it), SIGSEGV);
  CHECK_EQ(signal_of(write_it), SIGSEGV);
  CHECK_EQ(signal_of(free_it_twice), SIGABRT);
  CHECK_EQ(signal_of(resize_it_freed), SIGABRT);
  free(block);
  CHECK_EQ(signal_of(read_it), SIGSEGV);
}

static void an_address_is_not_the_next_ones(void) {
  for (int i = 0; i < 1000; i++) {
    void *first = opaque(malloc(0));
    free(first);
    void *second = opaque(calloc(3, 0));
    CHECK(second != first);
    free(second);
  }
}

static void resized_it_has_bytes(void) {
  char *grown = opaque(realloc(opaque(malloc(0)), 100));
  fill(grown, 0, 100, 1);
  check_filled(grown, 0, 100, 1);
  free(grown);
}

/* More than have addresses of their own: the others are ordinary ones. */
enum { COUNT = 40000 };
static void there_are_as_many_as_a_program_likes(void) {
  static char *blocks[COUNT];
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < COUNT; i++) {
      blocks[i] = opaque(malloc(0));
      CHECK(blocks[i] != NULL);
      CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
    }
    for (int i = 0; i < COUNT; i++) free(blocks[i]);
  }
}

int main(void) {
  check_access(opaque(malloc(0)));
  check_access(opaque(calloc(0, 10)));
  check_access(opaque(aligned_alloc(16, 0)));
  an_address_is_not_the_next_ones();
  resized_it_has_bytes();
  there_are_as_many_as_a_program_likes();
  check_access(opaque(malloc(0)));
  return 0;
}
