/* posix_spawn, vfork, popen and system under allocating threads. */
#include "background.h"
#include <spawn.h>

extern char **environ;

int main(void) {
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; i++) threads[i] = start_thread(background_work, (void *)i);
  for (int i = 0; i < 20; i++) {
    char *command[] = {"sh", "-c", "exit 7", NULL};
    pid_t child;
    CHECK_EQ(posix_spawnp(&child, "sh", NULL, NULL, command, environ), 0);
    CHECK_EQ(WEXITSTATUS(wait_for(child)), 7);

    child = vfork();
    if (child == 0) {
      execlp("sh", "sh", "-c", "exit 5", (char *)NULL);
      _exit(127);
    }
    CHECK_EQ(WEXITSTATUS(wait_for(child)), 5);

    char line[16] = "";
    FILE *output = popen("echo hello", "r");
    CHECK(output != NULL);
    CHECK(fgets(line, sizeof line, output) != NULL);
    CHECK(strcmp(line, "hello\n") == 0);
    CHECK_EQ(pclose(output), 0);
    CHECK_EQ(WEXITSTATUS(system("exit 3")), 3);
  }
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) join_thread(threads[i]);
  return 0;
}
