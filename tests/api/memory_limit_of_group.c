/* In a control group with little memory, which it is in from its start, a program that has freed most of a peak, but for a block
 * here and there, can take it for blocks of another size: free memory goes back while it is short.
 * Skipped where no such group can be made. */
// builds: fast linked
#include "children.h"
#include "execute_again.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 64 << 20, PEAK = 44 << 20, SMALL = 700, LARGER = 9000, KEPT = 20 };

static char group[128];

static int write_in_group(const char *name, long number) {
  char path[192], text[32];
  snprintf(path, sizeof path, "%s/%s", group, name);
  int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  snprintf(text, sizeof text, "%ld\n", number);
  int result = write(fd, text, strlen(text)) < 0 ? -1 : 0;
  close(fd);
  return result;
}

/* A group with the limit, and without swap, of version 1 or 2; false if it cannot be made. */
static int make_group(void) {
  static const struct {
    const char *folder, *limit;
  } versions[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                  {"/sys/fs/cgroup", "memory.max"}};
  for (int i = 0; i < 2; i++) {
    snprintf(group, sizeof group, "%s/loam-test-%d", versions[i].folder, (int)getpid());
    if (mkdir(group, 0700) != 0) continue;
    if (write_in_group(versions[i].limit, LIMIT) == 0 && access(group, W_OK) == 0) {
      write_in_group("memory.swap.max", 0);
      write_in_group("memory.memsw.limit_in_bytes", LIMIT);
      return 1;
    }
    rmdir(group);
  }
  return 0;
}

static void take(void **blocks, size_t count, size_t size) {
  for (size_t i = 0; i < count; i++) {
    blocks[i] = malloc(size);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, size);
  }
}

static int peak_and_another(void) {
  static void *small[PEAK / SMALL], *larger[PEAK / LARGER];
  take(small, PEAK / SMALL, SMALL);
  for (size_t i = 0; i < PEAK / SMALL; i++) {
    if (i % KEPT == 0) continue;
    free(small[i]);
    small[i] = NULL;
  }
  for (int i = 0; i < 100; i++) { /* a moment in which the program does something else */
    usleep(2000);
    for (int k = 0; k < 20; k++) free(malloc(SMALL * 2));
  }
  take(larger, PEAK / LARGER, LARGER);
  for (size_t i = 0; i < PEAK / SMALL; i += KEPT) free(small[i]);
  return 0;
}

static void start_in_group(size_t unused) {
  (void)unused;
  CHECK_EQ(write_in_group("cgroup.procs", getpid()), 0);
  execute_again("child", "in group", NULL);
  _exit(2);
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) return peak_and_another();
  if (!make_group()) return 77;
  int status;
  pid_t child = start_child(start_in_group, 0);
  CHECK_EQ(waitpid(child, &status, 0), child);
  rmdir(group);
  CHECK_EQ(status, 0);
  return 0;
}
