/* The option profile: a file of each process's own at exit, one more when a signal comes, none
 * without the option. The program starts itself with LOAM_OPTIONS set. */
#include "execute_again.h"
#include "names.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "profile_file.h"

static char folder[] = "/tmp/loam-test-XXXXXX";

/* 128 mean distances of samples, unless an option says else: that none is in it has a chance of
 * e^-128. */
#define BLOCK_BYTES (64 * MIB)

static __attribute__((noinline)) void *take(const void **caller) {
  void *block = opaque(malloc(BLOCK_BYTES));
  *caller = __builtin_return_address(0);
  return block;
}

/* The one that is profiled: writes the address that it takes a block from. */
static int be_child(const char *what) {
  const void *caller;
  char *block = take(&caller);
  memset(block, 1, 100);
  CHECK_EQ(write(1, &caller, sizeof caller), sizeof caller);
  char byte;
  if (strcmp(what, "waits") == 0)
    while (read(0, &byte, 1) < 0) {}
  if (strcmp(what, "waits") == 0) _exit(0); /* writes none at exit */
  return 0;
}

static pid_t start(const char *what, const char *options, int *input, int *output) {
  int to[2], from[2];
  CHECK_EQ(pipe(to), 0);
  CHECK_EQ(pipe(from), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(to[0], 0), dup2(from[1], 1);
    close(to[1]), close(from[0]);
    CHECK_EQ(chdir(folder), 0);
    if (options != NULL) setenv("LOAM_OPTIONS", options, 1);
    execute_again("child", what, NULL);
    _exit(2);
  }
  close(to[0]), close(from[1]);
  *input = to[1], *output = from[0];
  return child;
}

static void end(pid_t child, int input, int output) {
  int status;
  close(input);
  close(output);
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

/* Whether the process has written such a file, which is read and removed. */
static bool has_file(const char *name, pid_t child) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s.%d.profile", folder, name, child);
  if (access(path, F_OK) != 0) return false;
  read_profile(path);
  unlink(path);
  return true;
}

/* Whether all of the file has been written. */
static bool is_whole(const char *name, pid_t child) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s.%d.profile", folder, name, child);
  int fd = open(path, O_RDONLY);
  if (fd < 0) return false;
  ssize_t length = read(fd, profile_text, sizeof profile_text - 1);
  CHECK(length >= 0);
  close(fd);
  profile_text[length] = 0;
  return is_whole_profile(profile_text, (size_t)length);
}

static const void *caller_of_child(int output) {
  const void *caller;
  CHECK_EQ(read(output, &caller, sizeof caller), sizeof caller);
  return caller;
}

static void at_exit(const char *options, const char *name) {
  int input, output;
  pid_t child = start("ends", options, &input, &output);
  const void *caller = caller_of_child(output);
  end(child, input, output);
  CHECK(has_file(name, child));
  CHECK(sums_from(caller).live_bytes >= BLOCK_BYTES);
}

static void by_signal(void) {
  int input, output;
  pid_t child = start("waits", "profile=on,profile_signal=10", &input, &output);
  const void *caller = caller_of_child(output);
  CHECK_EQ(kill(child, 10), 0);
  for (int i = 0; i < 1000 && !is_whole("loam", child); i++) usleep(10000);
  CHECK(has_file("loam", child));
  CHECK(sums_from(caller).live_bytes >= BLOCK_BYTES);
  end(child, input, output);
  CHECK(!has_file("loam", child));
}

static void not_asked_for(void) {
  int input, output;
  pid_t child = start("ends", "stats=off", &input, &output);
  caller_of_child(output);
  end(child, input, output);
  CHECK(!has_file("loam", child));
}

int main(int count, char **arguments) {
  if (loam_profile_start == NULL || !CALLERS_ARE_KNOWN) return 77;
  if (count > 1) return be_child(arguments[1]);
  CHECK(mkdtemp(folder) != NULL);
  at_exit("profile=on", "loam");
  at_exit("profile=on,profile_bytes=1000,profile_file=x.%p.profile", "x");
  by_signal();
  not_asked_for();
  CHECK_EQ(rmdir(folder), 0);
  return 0;
}
