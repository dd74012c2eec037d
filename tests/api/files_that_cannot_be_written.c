/* A profile or statistics that cannot be written are one line on standard error, whether the file
 * cannot be opened or the disk is full; the process ends as it would. The program starts itself
 * with LOAM_OPTIONS set. */
#include "execute_again.h"
#include "names.h"

/* Not all of the child's standard error: only what loam says. */
static void check_said(const char *options, const char *expected) {
  int output[2], status;
  char text[4096];
  size_t length = 0;
  CHECK_EQ(pipe(output), 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(output[1], 2);
    close(output[0]), close(output[1]);
    setenv("LOAM_OPTIONS", options, 1);
    execute_again("child", "allocates", NULL);
    _exit(2);
  }
  close(output[1]);
  for (ssize_t count; (count = read(output[0], text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)count;
  text[length] = 0;
  close(output[0]);
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  if (strcmp(text, expected) == 0) return;
  fprintf(stderr, "%s: '%s' is said, not '%s'\n", options, text, expected);
  exit(1);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    free(opaque(malloc(1 * MIB)));
    return 0;
  }
  if (access("/dev/full", W_OK) != 0) return CANNOT;
  check_said("profile=on,profile_file=/nowhere/p",
             "loam: cannot write /nowhere/p: no such file or directory\n");
  check_said("profile=on,profile_file=/dev/full",
             "loam: cannot write /dev/full: no space left on device\n");
  check_said("profile=on,profile_file=/tmp", "loam: cannot write /tmp: is a directory\n");
  check_said("stats=json,stats_file=/nowhere/s",
             "loam: cannot write /nowhere/s: no such file or directory\n");
  check_said("stats_file=/dev/full", "loam: cannot write /dev/full: no space left on device\n");
  check_said("profile=on,profile_file=/dev/null,stats_file=/dev/null", "");
  int full = open("/dev/full", O_WRONLY);
  CHECK(full >= 0 && dup2(full, 3) == 3);
  check_said("stats=text,stats_fd=3",
             "loam: cannot write statistics: no space left on device\n");
  return 0;
}
