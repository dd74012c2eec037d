/* Free memory goes back at once while the system says that it is short of memory, and while a job
 * object's limit is near; at other times it is kept. The system's part is played by stand-ins, since
 * wine is never short and keeps no limits. */
#include "stand_in.h"

#if defined(_WIN64)

enum { LIMIT_MIB = 200, COUNT = 60000, BYTES = 1000 };
#define KEPT_BYTES (20 * MIB) /* of 57 */
#define LITTLE_BYTES (4 * MIB)

static volatile LONG is_short;
static volatile size_t used_by_job;

static WINAPI BOOL query_notification(HANDLE notification, BOOL *state) {
  CHECK(notification != NULL && notification != INVALID_HANDLE_VALUE);
  *state = is_short || is_part("short");
  return TRUE;
}
STAND_IN(QueryMemoryResourceNotification, query_notification);

static WINAPI BOOL query_job(HANDLE job, JOBOBJECTINFOCLASS class, void *answer, DWORD size,
                             DWORD *length) {
  CHECK(job == NULL && length == NULL);
  memset(answer, 0, size);
  if (class == JobObjectExtendedLimitInformation) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION *limits = answer;
    CHECK_EQ(size, sizeof *limits);
    limits->BasicLimitInformation.LimitFlags =
        is_part("process") ? JOB_OBJECT_LIMIT_PROCESS_MEMORY
        : is_part("job")   ? JOB_OBJECT_LIMIT_JOB_MEMORY
                           : JOB_OBJECT_LIMIT_WORKINGSET;
    limits->ProcessMemoryLimit = limits->JobMemoryLimit = LIMIT_MIB * MIB;
    return TRUE;
  }
  CHECK(class == 28 && size == 16);
  *(uint64_t *)answer = used_by_job;
  return used_by_job != 0;
}
STAND_IN(QueryInformationJobObject, query_job);

static void use_more(size_t count) {
  static void *blocks[4 * COUNT];
  for (size_t i = 0; i < count; i++) memset(blocks[i] = malloc(BYTES), 1, BYTES);
  for (size_t i = 0; i < count; i++) free(blocks[i]);
}

static size_t free_bytes(void) {
  struct loam_stats stats;
  loam_stats(&stats, sizeof stats);
  return stats.free_bytes;
}

/* What is free once some has been taken, freed, and some calls have been made. */
static size_t left_after(size_t count) {
  for (int i = 0; i < 3; i++) use_more(count);
  for (int i = 0; i < 60; i++) {
    Sleep(5);
    for (int k = 0; k < 20; k++) free(malloc((size_t)(i * 20 + k) * 10));
  }
  return free_bytes();
}

static int be_part(void) {
  CHECK_EQ(loam_control("purge_delay_ms", NULL, 0, "3600000"), 0); /* time gives nothing back */
  if (is_part("short")) { /* from the start */
    CHECK_THAT(left_after(COUNT), <, LITTLE_BYTES);
  } else if (is_part("at times")) {
    CHECK_THAT(left_after(COUNT), >, KEPT_BYTES);
    is_short = 1;
    CHECK_THAT(left_after(COUNT), <, LITTLE_BYTES);
    is_short = 0;
    CHECK_THAT(left_after(COUNT), >, KEPT_BYTES);
  } else { /* a limit: of 57 MiB in use, and of 171 */
    CHECK_THAT(left_after(COUNT), >, KEPT_BYTES);
    void *large = memset(malloc(130 * MIB), 1, 130 * MIB);
    CHECK_THAT(left_after(COUNT), <, KEPT_BYTES); /* then a quarter of the limit is left again */
    free(large);
    CHECK_THAT(left_after(COUNT), >, KEPT_BYTES);
    CHECK_EQ(loam_control("group_limit", NULL, 0, "follow"), 0);
    used_by_job = 195 * MIB; /* by others */
    CHECK_EQ(left_after(COUNT) < LITTLE_BYTES, is_part("job"));
  }
  return 0;
}

int main(int count, char **arguments) {
  if (strcmp(arguments[0], "again") == 0 && count == 1) return be_part();
  CHECK_EQ(run_part("short", ""), 0);
  CHECK_EQ(run_part("at times", ""), 0);
  CHECK_EQ(run_part("process", ""), 0);
  CHECK_EQ(run_part("job", ""), 0);
  return 0;
}

#else
int main(void) { return 77; }
#endif
