/* What the control groups that the process is in let it have: files of cgroups 2 and 1, where
 * systemd and the makers of containers mount them. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "os/os.h"

#include "os/lines_linux.h"

/* Variables, since tests have a tree of their own. */
static const char *group_list = "/proc/self/cgroup";
static const char *group_root = "/sys/fs/cgroup";

/* A folder below group_root. */
#define GROUP_PATH_BYTES 512
struct group {
  char path[GROUP_PATH_BYTES];
  size_t root_length; /* of the path of its hierarchy's root */
  size_t length;
};

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- The list of a process's groups: lines "ID:CONTROLLER,...:PATH" ---- */

/* Whether the words that end with a colon have this one. */
static bool has_controller(const char *words, const char *word) {
  while (*words != 0 && *words != ':') {
    size_t length = 0;
    while (words[length] != 0 && words[length] != ',' && words[length] != ':') length++;
    if (lm_string_equal(words, length, word)) return true;
    words += length + (words[length] == ',');
  }
  return false;
}

static const char *after_colon(const char *text) {
  while (*text != 0 && *text != ':') text++;
  return text + (*text == ':');
}

/* The group in the hierarchy that has the controller, or in that of version 2, which names none, if
 * it is empty; the hierarchy is mounted as `mount` below the root. False if there is none. */
static bool find_group(struct group *group, const char *controller, const char *mount) {
  struct lm_lines lines;
  char line[GROUP_PATH_BYTES];
  bool found = false;
  if (!lm_lines_begin(&lines, group_list)) return false;
  while (!found && lm_lines_read(&lines, line, sizeof line)) {
    const char *words = after_colon(line);
    found = *controller == 0 ? *words == ':' : has_controller(words, controller);
  }
  lm_lines_end(&lines);
  if (!found) return false;
  struct lm_text text = {group->path, GROUP_PATH_BYTES, 0};
  lm_text_string(&text, group_root);
  lm_text_string(&text, mount);
  group->root_length = text.length;
  const char *path = after_colon(after_colon(line));
  /* "/": the root itself. "/..": outside of what the process is shown. */
  if (path[0] == '/' && path[1] != 0 && path[1] != '.') lm_text_string(&text, path);
  group->length = text.length;
  return true;
}

/* Goes to the group above; false at the root of the hierarchy. */
static bool go_up(struct group *group) {
  if (group->length <= group->root_length) return false;
  while (group->path[--group->length] != '/') {}
  return true;
}

/* ---- A group's files ---- */

/* What follows `key` in the first line of the group's file that begins with it; false if there is
 * none. A container may be told the path that its group has outside: then all files of the lower
 * groups are missing, and the root's are its own. */
static bool read_value(const struct group *group, const char *name, const char *key, char *value,
                       size_t capacity) {
  struct lm_lines lines;
  LM_TEXT(path, GROUP_PATH_BYTES + 64);
  lm_text_span(&path, group->path, group->length);
  lm_text_char(&path, '/');
  lm_text_string(&path, name);
  lm_text_char(&path, 0);
  if (!lm_lines_begin(&lines, path.bytes)) return false;
  bool found = false;
  while (!found && lm_lines_read(&lines, value, capacity)) {
    size_t i = 0;
    while (key[i] != 0 && value[i] == key[i]) i++;
    found = key[i] == 0;
    for (size_t to = 0; found && i != 0; to++) { /* without the key */
      value[to] = value[to + i];
      if (value[to] == 0) break;
    }
  }
  lm_lines_end(&lines);
  return found;
}

/* The number that a text begins with; UINT64_MAX for "max" and what is no number. */
static uint64_t number_at(const char *text) {
  size_t length = 0;
  while (text[length] >= '0' && text[length] <= '9') length++;
  uint64_t number;
  return lm_parse_number(text, length, &number) ? number : UINT64_MAX;
}

static uint64_t read_number(const struct group *group, const char *name, const char *key) {
  char value[64];
  return read_value(group, name, key, value, sizeof value) ? number_at(value) : UINT64_MAX;
}

/* ---- Memory ---- */

/* The names of the files in one version; the soft limit is one at which the system slows processes
 * down, which version 1 has not. */
struct memory_files {
  const char *limit, *soft_limit, *used, *reclaimable_key;
};
static const struct memory_files files_2 = {"memory.max", "memory.high", "memory.current",
                                            "inactive_file "};
static const struct memory_files files_1 = {"memory.limit_in_bytes", NULL,
                                            "memory.usage_in_bytes", "total_inactive_file "};

#define NO_LIMIT ((uint64_t)1 << 60) /* version 1 says "none" as a large number */

/* False if there is none. */
static bool read_limit(const struct group *group, const struct memory_files *files,
                       struct lm_os_group_memory *memory) {
  memory->limit_bytes = read_number(group, files->limit, "");
  if (files->soft_limit != NULL)
    memory->limit_bytes = smaller(memory->limit_bytes, read_number(group, files->soft_limit, ""));
  return memory->limit_bytes < NO_LIMIT && memory->limit_bytes != 0;
}

static bool read_memory(const struct group *group, const struct memory_files *files,
                        struct lm_os_group_memory *memory) {
  if (!read_limit(group, files, memory)) return false;
  memory->used_bytes = read_number(group, files->used, "");
  if (memory->used_bytes >= NO_LIMIT) return false;
  /* Pages of files that are not in use go without a loss. */
  uint64_t reclaimable_bytes = read_number(group, "memory.stat", files->reclaimable_key);
  if (reclaimable_bytes <= memory->used_bytes) memory->used_bytes -= reclaimable_bytes;
  return true;
}

/* How much of its limit a group uses, in thousandths about. */
static uint64_t fullness(const struct lm_os_group_memory *memory) {
  return memory->used_bytes / (memory->limit_bytes / 1000 + 1);
}

/* The process's, and the names of its files; NULL if there is none. */
static const struct memory_files *find_memory_group(struct group *group) {
  if (find_group(group, "memory", "/memory")) return &files_1;
  return find_group(group, "", "") ? &files_2 : NULL;
}

typedef bool group_comparison(const struct lm_os_group_memory *a,
                              const struct lm_os_group_memory *b);

static bool is_fuller(const struct lm_os_group_memory *a, const struct lm_os_group_memory *b) {
  return fullness(a) > fullness(b);
}

static uint64_t room_of(const struct lm_os_group_memory *memory) {
  return memory->limit_bytes - smaller(memory->used_bytes, memory->limit_bytes);
}

static bool has_less_room(const struct lm_os_group_memory *a,
                          const struct lm_os_group_memory *b) {
  return room_of(a) < room_of(b);
}

static bool find_tightest(group_comparison *is_tighter, struct lm_os_group_memory *tightest) {
  struct group group;
  const struct memory_files *files = find_memory_group(&group);
  if (files == NULL) return false;
  bool found = false;
  do {
    struct lm_os_group_memory memory;
    if (!read_memory(&group, files, &memory)) continue;
    if (!found || is_tighter(&memory, tightest)) *tightest = memory;
    found = true;
  } while (go_up(&group));
  return found;
}

bool lm_os_find_group_memory(struct lm_os_group_memory *memory) {
  return find_tightest(is_fuller, memory);
}

bool lm_os_find_group_room(struct lm_os_group_memory *memory) {
  return find_tightest(has_less_room, memory);
}

/* ---- Processors ---- */

static uint64_t cpus_of(uint64_t quota_us, uint64_t period_us) {
  if (quota_us >= NO_LIMIT || period_us == 0 || period_us >= NO_LIMIT) return UINT64_MAX;
  return (quota_us + period_us - 1) / period_us;
}

/* "QUOTA PERIOD", in microseconds; the quota is "max" if there is none. */
static uint64_t read_cpus_2(const struct group *group) {
  char value[64];
  if (!read_value(group, "cpu.max", "", value, sizeof value)) return UINT64_MAX;
  const char *period = value;
  while (*period != 0 && *period != ' ') period++;
  return cpus_of(number_at(value), number_at(period + (*period == ' ')));
}

/* The quota is -1 if there is none. */
static uint64_t read_cpus_1(const struct group *group) {
  return cpus_of(read_number(group, "cpu.cfs_quota_us", ""),
                 read_number(group, "cpu.cfs_period_us", ""));
}

unsigned lm_os_find_group_cpus(void) {
  struct group group;
  uint64_t (*read_cpus)(const struct group *) = read_cpus_1;
  if (!find_group(&group, "cpu", "/cpu")) {
    read_cpus = read_cpus_2;
    if (!find_group(&group, "", "")) return UINT32_MAX;
  }
  uint64_t cpus = UINT32_MAX;
  do cpus = smaller(cpus, read_cpus(&group));
  while (go_up(&group));
  return cpus == 0 ? 1 : (unsigned)cpus;
}
