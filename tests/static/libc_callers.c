/* What the C library allocates by itself for the program comes from loam, as one program sees it:
 * each block is measured, grown and freed by loam, which ends the program at a block of another
 * allocator. What the library keeps to itself is used, too. */
#include "check.h"
#include <dirent.h>
#include <locale.h>
#include <malloc.h>
#include <netdb.h>
#include <spawn.h>
#include <wchar.h>

static void is_ours(void *block) {
  CHECK(block != NULL);
  CHECK(malloc_usable_size(block) > 0);
  free(opaque(realloc(block, 5000)));
}

static void strings(void) {
  char *text = NULL;
  is_ours(strdup("one"));
  is_ours(strndup("one", 2));
  is_ours(wcsdup(L"one"));
  CHECK_EQ(asprintf(&text, "%0200d", 1), 200);
  is_ours(text);
  is_ours(realpath("/proc/self", NULL));
  is_ours(getcwd(NULL, 0));
}

static void streams(void) {
  char *line = NULL, *memory = NULL;
  size_t size = 0;
  FILE *file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  CHECK(getline(&line, &size, file) > 0);
  is_ours(line);
  fclose(file);
  file = open_memstream(&memory, &size);
  for (int i = 0; i < 3000; i++) CHECK(fprintf(file, "%d ", i) > 0);
  fclose(file);
  is_ours(memory);
  DIR *folder = opendir("/");
  CHECK(folder != NULL && readdir(folder) != NULL);
  closedir(folder);
}

static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int exits;
static void count_exit(void) {
  if (++exits == 100) _exit(0);
}

static void kept_by_the_library(void) {
  static int numbers[100000];
  for (int i = 0; i < 100000; i++) numbers[i] = i * 7919 % 100000;
  qsort(numbers, 100000, sizeof *numbers, by_value);
  CHECK_EQ(numbers[5], 5);
  for (int i = 0; i < 100; i++) CHECK_EQ(atexit(count_exit), 0);
  for (int i = 0; i < 100; i++) {
    char name[32];
    snprintf(name, sizeof name, "VARIABLE_%d", i);
    CHECK_EQ(setenv(name, "value", 1), 0);
    CHECK_EQ(setenv(name, "longer value", 1), 0);
  }
  locale_t locale = newlocale(LC_ALL_MASK, "C", NULL);
  CHECK(locale != NULL);
  freelocale(duplocale(locale));
  setenv("TZ", "Europe/Berlin", 1);
  tzset();
  posix_spawn_file_actions_t actions;
  CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
  CHECK_EQ(posix_spawn_file_actions_addclose(&actions, 100), 0);
  CHECK_EQ(posix_spawn_file_actions_destroy(&actions), 0);
}

int main(void) {
  strings();
  streams();
  kept_by_the_library();
  exit(1); /* the last of the exit handlers makes it 0 */
}
