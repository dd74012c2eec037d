// builds: fast
// preloaded: no
/* A program on the C library's malloc opens plugins with loam inside, uses them, and closes them.
 * Whatever loam has left with the C library must not be called in unmapped code: at a fork, at the
 * end of a thread that has used the plugin, and at the end of the process. */
#define TEST_WITHOUT_LOAM
#include "threads.h"

#include <dlfcn.h>
#include <sys/wait.h>

static void *plugin;
static void *(*take)(size_t size);
static void (*give)(void *block);

static void open_plugin(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.so", TEST_BIN, name);
  plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(plugin != NULL);
  take = (void *(*)(size_t))dlsym(plugin, "plugin_take");
  give = (void (*)(void *))dlsym(plugin, "plugin_give");
  CHECK(take != NULL && give != NULL);
}

static void use_plugin(size_t below) {
  for (size_t size = 1; size < below; size *= 5) {
    void *block = opaque(take(size));
    CHECK(block != NULL);
    memset(block, 1, size);
    give(block);
  }
}

static void close_plugin(void) { CHECK_EQ(dlclose(plugin), 0); }

static void fork_once(void) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(3);
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 3 << 8);
}

/* The plugin is closed while the thread has a heap, which ends with the thread. */
static void *use_and_close(void *unused) {
  use_plugin(50 * MIB);
  close_plugin();
  return unused;
}

static void check_plugin(const char *name) {
  open_plugin(name);
  use_plugin(50 * MIB);
  close_plugin();
  fork_once();
  open_plugin(name);
  run_in_thread(use_and_close, NULL);
  fork_once();
}

/* Opening and closing again and again must not take memory each time. No huge block is taken: the
 * mapping of one may be kept or not when the memory is looked at. */
static void check_growth(const char *name) {
  size_t before = 0;
  for (int round = 0; round < 30; round++) {
    open_plugin(name);
    use_plugin(2 * MIB);
    close_plugin();
    if (round == 5) before = resident_bytes();
  }
  CHECK_THAT(resident_bytes(), <, before + 8 * MIB);
}

int main(void) {
  check_plugin("loam_inside");
  check_plugin("malloc_inside");
  check_growth("loam_inside");
  return 0;
}
