// builds: linked static
/* What the program says in loam_options counts where no file and no environment says otherwise; the
 * environment comes last. The program starts itself with other environments.
 *
 * Arguments: none, or what purge_delay_ms and stats_fd must be. */
#include "execute_again.h"
#include "names.h"

#include <sys/wait.h>

const char *loam_options = "purge_delay_ms=1234,stats_fd=5";

static const char *value_of(const char *name) {
  static char value[1024];
  CHECK_EQ(loam_control(name, value, sizeof value, NULL), 0);
  return value;
}

static void check_started_with(const char *environment, const char *delay, const char *fd) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    if (environment != NULL) setenv("LOAM_OPTIONS", environment, 1);
    else unsetenv("LOAM_OPTIONS");
    execute_again("child", delay, fd);
    _exit(2);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

int main(int count, char **arguments) {
  if (count > 2) {
    CHECK_EQ(strcmp(value_of("purge_delay_ms"), arguments[1]), 0);
    CHECK_EQ(strcmp(value_of("stats_fd"), arguments[2]), 0);
    return 0;
  }
  char path[] = "/tmp/loam-test-XXXXXX", entries[128];
  int file = mkstemp(path);
  CHECK_EQ(write(file, "stats_fd=6\n", 11), 11);
  snprintf(entries, sizeof entries, "purge_delay_ms=77,options_file=%s", path);
  check_started_with(NULL, "1234", "5");
  check_started_with("stats_fd=7", "1234", "7");
  check_started_with(entries, "77", "6");
  close(file);
  unlink(path);
  return 0;
}
