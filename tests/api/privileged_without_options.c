// builds: linked static
/* A privileged program, here one that has its file's user and not its starter's, takes no options
 * from anywhere, the program itself and a file among it, and prints no statistics. Skipped where such
 * a program cannot be made. */
#include "names.h"

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

const char *loam_options = "help=1,no_such_option=0";
static char options[] = "/tmp/loam-test-XXXXXX"; /* with options */

enum { STATS_FD = 3, NOT_PRIVILEGED = 9, NOBODY = 65534 };

static void copy_self(const char *path) {
  static char bytes[65536];
  int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY);
  CHECK(from >= 0 && to >= 0);
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) CHECK_EQ(write(to, bytes, n), n);
  close(from);
  close(to);
  CHECK_EQ(chmod(path, 0700), 0);
}

/* Runs the file; says how much it has printed, and how it has ended. */
static size_t run(const char *path, int *status) {
  static char text[65536];
  int ends[2];
  size_t length = 0;
  CHECK_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STATS_FD);
    dup2(ends[1], STDERR_FILENO);
    char entries[128];
    snprintf(entries, sizeof entries, "stats=text,stats_fd=3,nonsense,options_file=%s", options);
    setenv("LOAM_OPTIONS", entries, 1);
    execl(path, "child", "child", NULL);
    _exit(2);
  }
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], text + length, sizeof text - length)) > 0;)
    length += (size_t)n;
  close(ends[0]);
  CHECK_EQ(waitpid(child, status, 0), child);
  return length;
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) {
    free(opaque(malloc(100)));
    return getauxval(AT_SECURE) != 0 ? 0 : NOT_PRIVILEGED;
  }
  char path[] = TEST_BIN "/privileged-XXXXXX";
  int status, file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  copy_self(path);
  int file_of_options = mkstemp(options);
  CHECK_EQ(write(file_of_options, "unknown=1\n", 10), 10);
  close(file_of_options);
  CHECK_EQ(chmod(options, 0644), 0);
  size_t ordinary = run(path, &status);
  CHECK_EQ(WEXITSTATUS(status), NOT_PRIVILEGED);
  CHECK_THAT(ordinary, >, 100);
  int made = chown(path, NOBODY, NOBODY) == 0 && chmod(path, 04755) == 0;
  size_t privileged = made ? run(path, &status) : 0;
  unlink(path);
  unlink(options);
  if (!made || WEXITSTATUS(status) == NOT_PRIVILEGED) return 77;
  CHECK_EQ(status, 0);
  CHECK_EQ(privileged, 0);
  return 0;
}
