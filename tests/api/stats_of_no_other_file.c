/* Statistics go to the file that was open as stats_fd at start, or nowhere: never into a file of the
 * program's that has come to have its number.
 *
 * The program starts itself with LOAM_OPTIONS set, once for each way to get there. */
#include "execute_again.h"
#include "names.h"

#include <sys/resource.h>
#include <sys/wait.h>

enum { STATS_FD = 3, FILES = 700 };
static const char record[] = "record\n";
static char own_path[] = "/tmp/loam-test-XXXXXX";

/* The program that is reported on: closes descriptors up to one, opens its file, in the worst case
 * until it has all numbers that there are, and writes a record. */
static int be_child(const char *path, int close_to) {
  int fd = -1;
  for (int closed = STATS_FD; closed <= close_to; closed++) close(closed);
  for (int i = 0; i < (close_to > STATS_FD ? FILES : 1); i++) {
    fd = open(path, O_WRONLY | O_APPEND);
    CHECK(fd >= 0);
  }
  CHECK_EQ(write(fd, record, sizeof record - 1), (ssize_t)sizeof record - 1);
  free(opaque(malloc(100)));
  return 0;
}

static void start_child(const char *close_to, int stats, rlim_t descriptor_limit) {
  struct rlimit limit = {descriptor_limit, descriptor_limit};
  int from = dup2(stats, 20);
  for (int fd = STATS_FD; fd < 20; fd++) close(fd);
  if (stats >= 0) dup2(from, STATS_FD);
  close(from);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  setenv("LOAM_OPTIONS", "stats=text,stats_fd=3", 1);
  execute_again("child", own_path, close_to);
  _exit(2);
}

/* How many bytes of statistics come out of a child that closes descriptors up to `close_to`; none
 * into its own file. */
static size_t run(const char *close_to, int descriptor_open, rlim_t descriptor_limit) {
  static char text[65536];
  int ends[2], status, own = mkstemp(own_path);
  size_t length = 0;
  CHECK(own >= 0);
  CHECK_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) start_child(close_to, descriptor_open ? ends[1] : -1, descriptor_limit);
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], text + length, sizeof text - length)) > 0;)
    length += (size_t)n;
  close(ends[0]);
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(lseek(own, 0, SEEK_END), (off_t)sizeof record - 1);
  close(own);
  unlink(own_path);
  memcpy(own_path + strlen(own_path) - 6, "XXXXXX", 6);
  return length;
}

int main(int count, char **arguments) {
  if (count > 2) return be_child(arguments[1], atoi(arguments[2]));
  CHECK_THAT(run("0", 1, 1024), >, 0);
  CHECK_THAT(run("3", 1, 1024), >, 0);
  CHECK_THAT(run("0", 1, 64), >, 0); /* cannot be duplicated beyond 500 */
  CHECK_EQ(run("0", 0, 1024), 0);
  CHECK_EQ(run("3", 1, 64), 0);
  CHECK_EQ(run("1023", 1, 1024), 0);
  return 0;
}
