// arguments: 2
// long-arguments: 30
/* Ten thousand forks, or as many as SECONDS have room for, beside threads that read lines, open
 * and close files, flush all streams, and write to streams in memory. The C library takes locks of
 * streams around malloc and malloc within them, and its fork takes them, too: whoever orders them
 * otherwise sleeps for ever. */
#include "background.h"

#include <signal.h>

enum { FORKS = 10000, LINES = 200 };

static char lines_path[] = "/tmp/loam-test-XXXXXX";

static int goes_on(void) { return !__atomic_load_n(&background_stop, __ATOMIC_RELAXED); }

/* Each line longer than the one before, so that the buffer grows while the stream is held. */
static void write_lines(void) {
  FILE *file = fdopen(mkstemp(lines_path), "w");
  CHECK(file != NULL);
  for (int line = 0; line < LINES; line++) fprintf(file, "%0*d\n", 40 * (line + 1), line);
  CHECK_EQ(fclose(file), 0);
}

static void *read_lines(void *unused) {
  while (goes_on()) {
    FILE *file = fopen(lines_path, "r");
    CHECK(file != NULL);
    for (int line = 0; line < LINES; line++) {
      char *text = NULL;
      size_t room = 0;
      CHECK_EQ(getline(&text, &room, file), 40 * (line + 1) + 1);
      free(text);
    }
    fclose(file);
  }
  return unused;
}

static void *open_and_close(void *unused) {
  while (goes_on()) {
    FILE *file = fopen("/dev/null", "w");
    CHECK(file != NULL);
    fputs("text", file);
    fclose(file);
  }
  return unused;
}

static void *flush_all(void *unused) {
  while (goes_on()) fflush(NULL);
  return unused;
}

static void *write_to_memory(void *unused) {
  while (goes_on()) {
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream != NULL);
    for (int i = 0; i < 500; i++) fprintf(stream, "%d and more of that; ", i);
    fclose(stream);
    CHECK_EQ(strlen(text), length);
    free(text);
  }
  return unused;
}

/* Streams work in the child as well, also by another thread. */
static void *use_streams(void *unused) {
  char *text;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  fputs("text", stream);
  fflush(NULL); /* may say that a stream has no file: one that another thread was closing */
  fclose(stream);
  free(text);
  return unused;
}

static void be_the_child(void) {
  use_streams(NULL);
  run_in_thread(use_streams, NULL);
  _exit(0);
}

static void forks_hang(int signal) {
  check_failed(__FILE__, __LINE__, "a fork hangs", signal, 0);
}

int main(int argument_count, char **arguments) {
  static void *(*const work[])(void *) = {read_lines,     read_lines, open_and_close,
                                          flush_all,      flush_all,  write_to_memory,
                                          background_work};
  enum { THREADS = sizeof work / sizeof *work };
  pthread_t threads[THREADS];
  write_lines();
  signal(SIGALRM, forks_hang);
  for (int i = 0; i < THREADS; i++) threads[i] = start_thread(work[i], NULL);
  double end = seconds_now() + (argument_count > 1 ? atof(arguments[1]) : 5);
  for (int i = 0; i < FORKS && seconds_now() < end; i++) {
    alarm(100); /* also for what waits within fork */
    fork_repeatedly(1, be_the_child);
  }
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  unlink(lines_path);
  return 0;
}
