/* What control groups let a process have, read from a tree of files that the test makes. */
#include "unit.h"

#include <sys/stat.h>

#if !LM_OS_HAS_GROUPS
int main(void) { return 77; }
#else

static char folder[] = "/tmp/loam-groups-XXXXXX";
static char list_path[256];

/* Writes a file, and the folders above it. */
static void write_file(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
       slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  fputs(text, file);
  fclose(file);
}

/* A tree of its own for each test, which knows the process by `list`. */
static void begin_tree(const char *list) {
  CHECK(mkdtemp(folder) != NULL);
  write_file("list", list);
  snprintf(list_path, sizeof list_path, "%s/list", folder);
  group_list = list_path;
  group_root = folder;
}

static void end_tree(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ(system(command), 0);
}

static void write_group_2(const char *group, const char *limit, const char *high,
                          const char *used) {
  char name[256];
  snprintf(name, sizeof name, "%s/memory.max", group);
  write_file(name, limit);
  snprintf(name, sizeof name, "%s/memory.high", group);
  write_file(name, high);
  snprintf(name, sizeof name, "%s/memory.current", group);
  write_file(name, used);
}

static void nothing_is_known_without_a_list(void) {
  struct lm_os_group_memory memory;
  group_list = "/nonexistent/list";
  CHECK(!lm_os_find_group_memory(&memory));
  CHECK_EQ(lm_os_find_group_cpus(), UINT32_MAX);
}

static void a_group_without_a_limit_has_none(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/a/b\n");
  write_group_2("a/b", "max\n", "max\n", "5000\n");
  CHECK(!lm_os_find_group_memory(&memory));
  end_tree();
}

static void the_lower_of_two_limits_counts(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/a/b\n");
  write_group_2("a/b", "100000000\n", "60000000\n", "30000000\n");
  CHECK(lm_os_find_group_memory(&memory));
  CHECK_EQ(memory.limit_bytes, 60000000);
  CHECK_EQ(memory.used_bytes, 30000000);
  end_tree();
}

static void of_groups_above_the_fullest_counts(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/a/b/c\n");
  write_group_2("a/b/c", "100000000\n", "max\n", "30000000\n");
  write_group_2("a/b", "max\n", "max\n", "150000000\n");
  write_group_2("a", "200000000\n", "max\n", "160000000\n");
  CHECK(lm_os_find_group_memory(&memory));
  CHECK_EQ(memory.limit_bytes, 200000000);
  CHECK_EQ(memory.used_bytes, 160000000);
  end_tree();
}

static void pages_of_files_do_not_count(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/a\n");
  write_group_2("a", "100000000\n", "max\n", "90000000\n");
  write_file("a/memory.stat", "anon 1\ninactive_anon 7\ninactive_file 50000000\nactive_file 3\n");
  CHECK(lm_os_find_group_memory(&memory));
  CHECK_EQ(memory.used_bytes, 40000000);
  end_tree();
}

static void a_container_sees_its_group_as_the_root(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/outside/of/the/container\n");
  write_file("memory.max", "4096000\n");
  write_file("memory.current", "1000\n");
  CHECK(lm_os_find_group_memory(&memory));
  CHECK_EQ(memory.limit_bytes, 4096000);
  end_tree();
}

static void version_1_has_a_tree_for_memory(void) {
  struct lm_os_group_memory memory;
  begin_tree("5:cpu,cpuacct:/x\n4:memory:/y/z\n0::/\n");
  write_file("memory/y/z/memory.limit_in_bytes", "9223372036854771712\n");
  write_file("memory/y/z/memory.usage_in_bytes", "20000\n");
  CHECK(!lm_os_find_group_memory(&memory));
  write_file("memory/y/memory.limit_in_bytes", "100000\n");
  write_file("memory/y/memory.usage_in_bytes", "50000\n");
  write_file("memory/y/memory.stat", "cache 5\ninactive_file 1\ntotal_inactive_file 10000\n");
  CHECK(lm_os_find_group_memory(&memory));
  CHECK_EQ(memory.limit_bytes, 100000);
  CHECK_EQ(memory.used_bytes, 40000);
  end_tree();
}

static void what_is_no_number_is_no_limit(void) {
  struct lm_os_group_memory memory;
  begin_tree("0::/a\n");
  write_group_2("a", "", "huge\n", "5\n");
  CHECK(!lm_os_find_group_memory(&memory));
  write_group_2("a", "99999999999999999999999\n", "-1\n", "5\n");
  CHECK(!lm_os_find_group_memory(&memory));
  write_group_2("a", "1000000\n", "max\n", "\n");
  CHECK(!lm_os_find_group_memory(&memory));
  end_tree();
}

static void a_quota_is_rounded_up_to_processors(void) {
  begin_tree("0::/a/b\n");
  CHECK_EQ(lm_os_find_group_cpus(), UINT32_MAX);
  write_file("a/b/cpu.max", "max 100000\n");
  CHECK_EQ(lm_os_find_group_cpus(), UINT32_MAX);
  write_file("a/b/cpu.max", "250000 100000\n");
  CHECK_EQ(lm_os_find_group_cpus(), 3);
  write_file("a/cpu.max", "50000 100000\n");
  CHECK_EQ(lm_os_find_group_cpus(), 1);
  end_tree();
}

static void version_1_has_quotas_too(void) {
  begin_tree("2:cpu,cpuacct:/x\n1:memory:/\n");
  write_file("cpu/x/cpu.cfs_quota_us", "-1\n");
  write_file("cpu/x/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(lm_os_find_group_cpus(), UINT32_MAX);
  write_file("cpu/x/cpu.cfs_quota_us", "400000\n");
  CHECK_EQ(lm_os_find_group_cpus(), 4);
  end_tree();
}

int main(void) {
  RUN(nothing_is_known_without_a_list);
  RUN(a_group_without_a_limit_has_none);
  RUN(the_lower_of_two_limits_counts);
  RUN(of_groups_above_the_fullest_counts);
  RUN(pages_of_files_do_not_count);
  RUN(a_container_sees_its_group_as_the_root);
  RUN(version_1_has_a_tree_for_memory);
  RUN(what_is_no_number_is_no_limit);
  RUN(a_quota_is_rounded_up_to_processors);
  RUN(version_1_has_quotas_too);
  return UNIT_RESULT();
}
#endif
