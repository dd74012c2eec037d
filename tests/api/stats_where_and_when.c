/* Statistics go into a file of each process's own, come by a signal while the process lives, and a
 * process that another one on loam has started says one line. The program starts itself with
 * LOAM_OPTIONS set. */
#include "execute_again.h"
#include "names.h"

#include <signal.h>
#include <sys/wait.h>

static char folder[] = "/tmp/loam-test-XXXXXX";

static void in_loop(int stop_fd) {
  char byte;
  do free(opaque(malloc(5000)));
  while (read(stop_fd, &byte, 1) < 0);
}

/* The program that is reported on: says that it runs, and ends when it is told to. */
static int be_child(const char *what) {
  if (strcmp(what, "parent") == 0) {
    pid_t child = fork();
    if (child == 0) execute_again("child", "grandchild", NULL);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    return 0;
  }
  free(opaque(malloc(100)));
  if (strcmp(what, "waits") != 0) return 0;
  fcntl(0, F_SETFL, O_NONBLOCK);
  CHECK_EQ(write(1, "!", 1), 1);
  in_loop(0);
  _exit(0);
}

static pid_t start(const char *what, const char *options, int input, int output) {
  pid_t child = fork();
  if (child != 0) return child;
  if (input >= 0) dup2(input, 0);
  if (output >= 0) dup2(output, 1);
  setenv("LOAM_OPTIONS", options, 1);
  execute_again("child", what, NULL);
  _exit(2);
}

static void wait_for(pid_t child) {
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

/* What is in a process's file, which is removed; NULL if there is none, or nothing in it yet. */
static const char *read_file(const char *name, int pid) {
  static char text[65536];
  char path[256];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, pid);
  int fd = open(path, O_RDONLY);
  if (fd < 0) return NULL;
  ssize_t length = read(fd, text, sizeof text - 1);
  CHECK(length >= 0);
  text[length] = 0;
  close(fd);
  if (length == 0) return NULL;
  unlink(path);
  return text;
}

static size_t count_lines(const char *text) {
  size_t count = 0;
  while ((text = strchr(text, '\n')) != NULL) text++, count++;
  return count;
}

static void each_process_has_its_file(void) {
  char options[256];
  snprintf(options, sizeof options, "stats_file=%s/a.%%p", folder);
  pid_t child = start("once", options, -1, -1);
  wait_for(child);
  const char *text = read_file("a", child);
  CHECK(text != NULL);
  CHECK(strncmp(text, "loam ", 5) == 0 && strstr(text, "in use") != NULL);
}

static void a_signal_prints_them_while_it_lives(void) {
  char options[256], byte;
  int input[2], output[2];
  CHECK_EQ(pipe2(input, O_CLOEXEC) | pipe2(output, O_CLOEXEC), 0);
  snprintf(options, sizeof options, "stats_signal=%d,stats_file=%s/b.%%p", SIGUSR2, folder);
  pid_t child = start("waits", options, input[0], output[1]);
  close(input[0]), close(output[1]);
  CHECK_EQ(read(output[0], &byte, 1), 1);
  for (int round = 0; round < 20; round++) {
    const char *text = NULL;
    CHECK_EQ(kill(child, SIGUSR2), 0);
    for (int i = 0; i < 5000 && text == NULL; i++) {
      usleep(1000);
      text = read_file("b", child);
    }
    CHECK(text != NULL);
    CHECK(strncmp(text, "loam ", 5) == 0);
  }
  close(input[1]), close(output[0]);
  wait_for(child);
}

static void a_child_says_one_line(void) {
  static char text[65536];
  int output[2];
  CHECK_EQ(pipe(output), 0);
  pid_t child = start("parent", "stats=text,stats_fd=1", -1, output[1]);
  close(output[1]);
  size_t length = 0;
  for (ssize_t n; (n = read(output[0], text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)n;
  wait_for(child);
  const char *own = strstr(text, "loam 0");
  CHECK(strncmp(text, "loam: process ", 14) == 0);
  CHECK(own != NULL);
  CHECK_EQ(count_lines(text) - count_lines(own), 1);
  CHECK_THAT(count_lines(own), >, 5);
  close(output[0]);
}

int main(int count, char **arguments) {
  if (count > 1) return be_child(arguments[1]);
  CHECK(mkdtemp(folder) != NULL);
  each_process_has_its_file();
  a_signal_prints_them_while_it_lives();
  a_child_says_one_line();
  rmdir(folder);
  return 0;
}
