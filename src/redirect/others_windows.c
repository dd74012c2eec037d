#include "redirect/others_windows.h"

#include <tlhelp32.h>

#define ATTEMPTS 2000 /* of a millisecond */
#define ROOM ((size_t)1 << 20)
#define THREADS_MAX (ROOM / sizeof(HANDLE))

static uintptr_t instruction_of(const CONTEXT *context) {
#if defined(__aarch64__)
  return (uintptr_t)context->Pc;
#else
  return (uintptr_t)context->Rip;
#endif
}

static bool find_others(struct lm_others *others) {
  THREADENTRY32 entry = {.dwSize = sizeof entry};
  HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  bool complete = list != INVALID_HANDLE_VALUE;
  others->count = 0;
  others->threads = VirtualAlloc(NULL, ROOM, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (others->threads == NULL) complete = false;
  for (bool more = complete && Thread32First(list, &entry); more && complete;
       more = Thread32Next(list, &entry)) {
    if (entry.th32OwnerProcessID != GetCurrentProcessId() ||
        entry.th32ThreadID == GetCurrentThreadId())
      continue;
    HANDLE thread = OpenThread(THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, FALSE,
                               entry.th32ThreadID);
    if (thread != NULL && others->count < THREADS_MAX) others->threads[others->count++] = thread;
    else complete = thread == NULL && GetLastError() == ERROR_INVALID_PARAMETER; /* it has ended */
  }
  if (list != INVALID_HANDLE_VALUE) CloseHandle(list);
  return complete;
}

static void resume(struct lm_others *others, size_t count) {
  while (count > 0) ResumeThread(others->threads[--count]);
}

static void forget(struct lm_others *others) {
  while (others->count > 0) CloseHandle(others->threads[--others->count]);
  if (others->threads != NULL) VirtualFree(others->threads, 0, MEM_RELEASE);
}

/* Stops them one by one; if one is in the way, those that are stopped go on. */
static bool stop_all(struct lm_others *others, lm_in_way *is_in_way, void *context) {
  for (size_t i = 0; i < others->count; i++) {
    CONTEXT registers = {.ContextFlags = CONTEXT_CONTROL};
    if (SuspendThread(others->threads[i]) == (DWORD)-1) {
      CloseHandle(others->threads[i]); /* it has ended */
      others->threads[i--] = others->threads[--others->count];
    } else if (!GetThreadContext(others->threads[i], &registers) ||
               is_in_way(context, instruction_of(&registers))) {
      resume(others, i + 1);
      return false;
    }
  }
  return true;
}

bool lm_others_stop(struct lm_others *others, lm_in_way *is_in_way, void *context) {
  bool complete = find_others(others);
  for (int attempt = 0; complete && attempt < ATTEMPTS; attempt++) {
    if (stop_all(others, is_in_way, context)) return true;
    Sleep(1);
  }
  forget(others);
  return false;
}

void lm_others_go(struct lm_others *others) {
  resume(others, others->count);
  forget(others);
}
