/* measure.exe LIBRARY|none COMMAND: runs it, with the library as its first import, and writes how
 * many milliseconds it took, and how many bytes it had in memory and committed at most, as a last
 * line on standard error. Ends as it does. */
#include <stdio.h>
#include <stdlib.h>

#include "redirect/inject_windows.c"

#include <psapi.h>

int wmain(int count, wchar_t **arguments) {
  STARTUPINFOW start = {.cb = sizeof start};
  PROCESS_INFORMATION process;
  PROCESS_MEMORY_COUNTERS now, most = {0};
  DWORD status = 1;
  if (count != 3) return 2;
  if (!CreateProcessW(NULL, arguments[2], NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start,
                      &process))
    return 127;
  const char *reason = wcscmp(arguments[1], L"none") != 0 ? lm_inject(process.hProcess, arguments[1])
                                                          : NULL;
  if (reason != NULL) fprintf(stderr, "%s\n", reason);
  ULONGLONG began = GetTickCount64();
  ResumeThread(process.hThread);
  while (WaitForSingleObject(process.hProcess, 5) == WAIT_TIMEOUT)
    if (K32GetProcessMemoryInfo(process.hProcess, &now, sizeof now) && now.PeakWorkingSetSize != 0)
      most = now;
  fprintf(stderr, "%llu %llu %llu\n", GetTickCount64() - began,
          (unsigned long long)most.PeakWorkingSetSize, (unsigned long long)most.PeakPagefileUsage);
  GetExitCodeProcess(process.hProcess, &status);
  return (int)status;
}
