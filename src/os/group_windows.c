/* What the job object that the process is in lets it have, and whether the system is short. */
#include "base/bits.h"
#include "os/os.h"
#include "os/system_windows.h"

/* ---- Job objects ---- */

/* What all processes of the job have committed, as Windows 10 tells it: in no header, but a number
 * that does not change. */
#define JOB_MEMORY_USAGE 28
struct job_memory_usage {
  uint64_t used_bytes, peak_used_bytes;
};

static uint64_t committed_by_process(void) {
  PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
  bool told = GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return told ? counters.PagefileUsage : 0;
}

/* The process's own where the system does not tell more. */
static uint64_t committed_by_job(uint64_t by_process) {
  struct job_memory_usage usage;
  bool told = QueryInformationJobObject(NULL, (JOBOBJECTINFOCLASS)JOB_MEMORY_USAGE, &usage,
                                        sizeof usage, NULL);
  return told ? lm_max(usage.used_bytes, by_process) : by_process;
}

static uint64_t room_in(const struct lm_os_group_memory *memory) {
  return memory->limit_bytes - lm_min(memory->used_bytes, memory->limit_bytes);
}

static void keep_tighter(struct lm_os_group_memory *tightest, uint64_t limit, uint64_t used) {
  struct lm_os_group_memory memory = {limit, used};
  if (limit != 0 && room_in(&memory) < room_in(tightest)) *tightest = memory;
}

/* Of jobs within jobs the system tells the innermost. */
bool lm_os_find_group_room(struct lm_os_group_memory *memory) {
  DWORD last_error = GetLastError();
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
  *memory = (struct lm_os_group_memory){UINT64_MAX, 0};
  if (QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof job, NULL)) {
    DWORD limited = job.BasicLimitInformation.LimitFlags;
    uint64_t used = committed_by_process();
    if (limited & JOB_OBJECT_LIMIT_PROCESS_MEMORY)
      keep_tighter(memory, job.ProcessMemoryLimit, used);
    if (limited & JOB_OBJECT_LIMIT_JOB_MEMORY)
      keep_tighter(memory, job.JobMemoryLimit, committed_by_job(used));
  }
  SetLastError(last_error);
  return memory->limit_bytes != UINT64_MAX;
}

bool lm_os_find_group_memory(struct lm_os_group_memory *memory) {
  return lm_os_find_group_room(memory);
}

unsigned lm_os_find_group_cpus(void) { return UINT32_MAX; }

/* ---- The whole system ---- */

/* NULL until the first call, which is made before there are others. */
static HANDLE notification;

bool lm_os_is_short_of_memory(void) {
  DWORD last_error = GetLastError();
  BOOL is_short = FALSE;
  if (notification == NULL) {
    notification = CreateMemoryResourceNotification(LowMemoryResourceNotification);
    if (notification == NULL) notification = INVALID_HANDLE_VALUE;
  }
  if (notification != INVALID_HANDLE_VALUE)
    QueryMemoryResourceNotification(notification, &is_short);
  SetLastError(last_error);
  return is_short;
}
