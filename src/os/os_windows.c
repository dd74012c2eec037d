/* Windows: memory, clock, waiting on an address, and the loader's call at a thread's end.
 *
 * Only functions of kernel32 that every Windows since 7 has are imported; later ones are looked up
 * at start. Nothing here calls the C runtime. */
#include <errno.h>

#include "base/bits.h"
#include "os/fault.h"
#include "os/os.h"
#include "os/runtime_windows.h"
#include "os/system_windows.h"

struct lm_os_facts lm_os = {
    .page_bytes = 4096, .page_shift = 12, .cpu_count = 1, .purge_decommits = true};

/* ---- Start ---- */

/* Of ntdll, since Windows 8; NULL before. Written by lm_os_start. */
static LONG(NTAPI *wait_on_address)(const void *address, const void *compare, SIZE_T size,
                                    const LARGE_INTEGER *timeout);
static void(NTAPI *wake_by_address)(const void *address);
/* Of ntdll, in every Windows. */
static BOOLEAN(NTAPI *process_is_ending)(void);

static void *function_of(const wchar_t *module_name, const char *name) {
  HMODULE module = GetModuleHandleW(module_name);
  return module != NULL ? (void *)(uintptr_t)GetProcAddress(module, name) : NULL;
}

/* A process that is bound to some processors is so within one group of them; others may run on the
 * processors of all groups. */
static unsigned find_cpu_count(void) {
  DWORD_PTR own = 0, all = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all) && own != all && own != 0)
    return (unsigned)__builtin_popcountll(own);
  return (unsigned)lm_max(1, GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
}

void lm_os_start(void) {
  DWORD last_error = GetLastError();
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  if (lm_is_power_of_two(info.dwPageSize) && info.dwPageSize >= 4096)
    lm_os.page_bytes = info.dwPageSize;
  lm_os.page_shift = lm_log2_floor(lm_os.page_bytes);
  lm_os.cpu_count = find_cpu_count();
  wait_on_address = function_of(L"ntdll.dll", "RtlWaitOnAddress");
  wake_by_address = function_of(L"ntdll.dll", "RtlWakeAddressSingle");
  process_is_ending = function_of(L"ntdll.dll", "RtlDllShutdownInProgress");
  SetLastError(last_error);
}

/* ---- Memory ---- */

/* Where a reservation may begin. */
#define RESERVATION_ALIGNMENT (64 * LM_KIB)
/* Other threads may take the place found for an aligned reservation, but not for ever. */
#define RESERVE_ATTEMPTS 16

static int reserve(size_t size, size_t alignment, DWORD kind, void **result) {
  if (alignment <= RESERVATION_ALIGNMENT) {
    *result = VirtualAlloc(NULL, size, kind, PAGE_READWRITE);
    return *result != NULL ? 0 : ENOMEM;
  }
  /* A reservation can be given back only whole: one that has room to spare says where an aligned
   * place is, and goes before that is taken. */
  for (int attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
    if (size + alignment < size) return ENOMEM;
    char *room = VirtualAlloc(NULL, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (room == NULL) return ENOMEM;
    void *place = (void *)lm_align_up((uintptr_t)room, alignment);
    VirtualFree(room, 0, MEM_RELEASE);
    *result = VirtualAlloc(place, size, kind, PAGE_READWRITE);
    if (*result != NULL) return 0;
  }
  return ENOMEM;
}

int lm_os_reserve(size_t size, size_t alignment, void **result) {
  if (lm_fault_here()) return ENOMEM;
  return reserve(size, alignment, MEM_RESERVE, result);
}

int lm_os_reserve_zero(size_t size, void **result) {
  if (lm_fault_here()) return ENOMEM;
  return reserve(size, lm_os.page_bytes, MEM_RESERVE, result);
}

static int commit(void *address, size_t size) {
  return VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != NULL ? 0 : ENOMEM;
}

int lm_os_commit(void *address, size_t size) {
  if (lm_fault_here()) return ENOMEM;
  return commit(address, size); /* whole pages, and those committed before stay as they are */
}

int lm_os_purge(void *address, size_t size) {
  if (lm_fault_here()) return ENOMEM;
  return VirtualFree(address, size, MEM_DECOMMIT) ? 0 : ENOMEM;
}

int lm_os_map(size_t size, size_t alignment, void **result) {
  if (lm_fault_here()) return ENOMEM;
  return reserve(size, alignment, MEM_RESERVE | MEM_COMMIT, result);
}

void lm_os_release(void *address, size_t size) {
  (void)size;
  VirtualFree(address, 0, MEM_RELEASE);
}

/* ---- Large pages ---- */

/* Of kernelbase, since Windows 10; NULL before. Written by lm_os_get_right_to_explicit. The headers
 * of some compilers do not have it yet. */
struct extended_parameter {
  uint64_t type;
  union {
    uint64_t number;
    const void *pointer;
  };
};
static void *(WINAPI *virtual_alloc_2)(HANDLE process, void *address, SIZE_T size, ULONG kind,
                                       ULONG protection, struct extended_parameter *parameters,
                                       ULONG count);
#define LARGE_KIND (MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES)

/* In the process's token, where it is listed but not in effect. By ntdll, which is loaded. */
#define LOCK_MEMORY_PRIVILEGE 4
static bool enable_lock_memory(void) {
  LONG(NTAPI *adjust)(ULONG privilege, BOOLEAN enable, BOOLEAN of_thread, BOOLEAN *was_enabled) =
      function_of(L"ntdll.dll", "RtlAdjustPrivilege");
  BOOLEAN was_enabled;
  return adjust != NULL && adjust(LOCK_MEMORY_PRIVILEGE, TRUE, FALSE, &was_enabled) == 0;
}

const char *lm_os_get_right_to_explicit(void) {
  SIZE_T smallest = GetLargePageMinimum();
  if (smallest == 0 || LM_PAGE_2M_BYTES % smallest != 0) return "the processor has none of 2 MiB";
  if (!enable_lock_memory())
    return "the user has no right to lock pages in memory (SeLockMemoryPrivilege)";
  virtual_alloc_2 = function_of(L"kernelbase.dll", "VirtualAlloc2");
  return NULL;
}

/* Of 1 GiB, which only the newer function gives. */
static int map_huge_pages(size_t size, size_t alignment, void **result) {
  const struct {
    const void *lowest, *highest;
    SIZE_T alignment;
  } place = {NULL, NULL, alignment};
  struct extended_parameter parameters[] = {
      {.type = 1 /* MemExtendedParameterAddressRequirements */, .pointer = &place},
      {.type = 5 /* MemExtendedParameterAttributeFlags */, .number = 0x10 /* _NONPAGED_HUGE */}};
  if (virtual_alloc_2 == NULL) return ENOSYS;
  *result = virtual_alloc_2(NULL, NULL, size, LARGE_KIND, PAGE_READWRITE, parameters, 2);
  return *result != NULL ? 0 : ENOMEM;
}

int lm_os_map_explicit(size_t size, size_t page_bytes, size_t alignment, void **result) {
  if (lm_fault_here()) return ENOMEM;
  if (page_bytes == LM_PAGE_1G_BYTES) return map_huge_pages(size, alignment, result);
  return reserve(size, alignment, LARGE_KIND, result);
}

void lm_os_unmap_explicit(void *address, size_t size) { lm_os_release(address, size); }

/* How much from `address` on is address space of one reservation that begins there. */
static size_t reserved_bytes(char *address) {
  MEMORY_BASIC_INFORMATION info;
  size_t bytes = 0;
  while (VirtualQuery(address + bytes, &info, sizeof info) == sizeof info &&
         info.State != MEM_FREE && info.AllocationBase == address)
    bytes += info.RegionSize;
  return bytes;
}

/* Address space in which a mapping that grows once can grow again; it costs nothing else. */
static size_t growth_bytes(size_t size) { return LM_BITS_64 ? size / 2 : 0; }

int lm_os_remap(void *address, size_t size, size_t new_size, void **result) {
  if (lm_fault_here()) return ENOMEM;
  if (new_size > PTRDIFF_MAX / 2) return ENOMEM;
  char *start = address, *moved;
  *result = address;
  if (new_size <= size) {
    if (new_size < size) VirtualFree(start + new_size, size - new_size, MEM_DECOMMIT);
    return 0;
  }
  if (reserved_bytes(start) >= new_size) return commit(start + size, new_size - size);
  size_t room_bytes = lm_align_up(new_size + growth_bytes(new_size), lm_os.page_bytes);
  moved = VirtualAlloc(NULL, room_bytes, MEM_RESERVE, PAGE_READWRITE);
  if (moved == NULL) return ENOMEM;
  if (commit(moved, new_size) != 0) {
    lm_os_release(moved, room_bytes);
    return ENOMEM;
  }
  CopyMemory(moved, address, size);
  lm_os_release(address, size);
  *result = moved;
  return 0;
}

uint64_t lm_os_address_space_limit(void) { return UINT64_MAX; }

/* Of committed pages: what is in memory and not paged out or untouched. */
static size_t resident_in(char *start, const char *end) {
  PSAPI_WORKING_SET_EX_INFORMATION pages[64];
  size_t count = 0;
  while (start < end) {
    DWORD asked = 0;
    for (; asked < 64 && start < end; start += lm_os.page_bytes) {
      pages[asked] = (PSAPI_WORKING_SET_EX_INFORMATION){.VirtualAddress = start};
      asked++;
    }
    if (!QueryWorkingSetEx(GetCurrentProcess(), pages, asked * (DWORD)sizeof *pages)) break;
    for (DWORD i = 0; i < asked; i++) count += pages[i].VirtualAttributes.Valid;
  }
  return count << lm_os.page_shift;
}

void lm_os_add_usage(const void *address, size_t size, struct lm_os_usage *usage) {
  char *start = (char *)(uintptr_t)address, *end = start + size;
  MEMORY_BASIC_INFORMATION info;
  while (start < end && VirtualQuery(start, &info, sizeof info) == sizeof info) {
    char *run_end = (char *)info.BaseAddress + info.RegionSize;
    if (run_end > end) run_end = end;
    if (info.State == MEM_COMMIT) {
      usage->committed_bytes += (size_t)(run_end - start);
      usage->resident_bytes += resident_in(start, run_end);
    }
    start = run_end;
  }
}

size_t lm_os_resident_bytes(const void *address, size_t size) {
  struct lm_os_usage usage = {0, 0};
  lm_os_add_usage(address, size, &usage);
  return usage.resident_bytes;
}

void lm_os_read_residency(struct lm_os_residency *residency) {
  PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
  bool told = GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  residency->resident_bytes = told ? counters.WorkingSetSize : 0;
  residency->peak_bytes = told ? counters.PeakWorkingSetSize : 0;
}

/* ---- Time ---- */

uint64_t lm_os_clock_ms(void) { return GetTickCount64(); }

uint64_t lm_os_clock_us(void) {
  LARGE_INTEGER count, per_second; /* neither call fails */
  QueryPerformanceFrequency(&per_second);
  QueryPerformanceCounter(&count);
  uint64_t whole = (uint64_t)(count.QuadPart / per_second.QuadPart);
  uint64_t part = (uint64_t)(count.QuadPart % per_second.QuadPart);
  return whole * 1000000 + part * 1000000 / (uint64_t)per_second.QuadPart;
}

/* ---- Threads ---- */

void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms) {
  if (process_is_ending != NULL && process_is_ending()) {
    /* All other threads have been ended by force, one of them where it held the lock whose state
     * this word is. What that guards may be half done; to wait would be for ever. */
    lm_store_relaxed(word, 0);
  } else if (wait_on_address != NULL) {
    LARGE_INTEGER time = {.QuadPart = -(LONGLONG)ms * 10000}; /* from now on */
    wait_on_address((const void *)word, &expected, sizeof expected, &time);
  } else {
    Sleep(1);
  }
}

static DWORD WINAPI run_thread(void *function) {
  ((void (*)(void))(uintptr_t)function)();
  return 0;
}

bool lm_os_start_thread(void (*function)(void)) {
  HANDLE thread = CreateThread(NULL, 0, run_thread, (void *)(uintptr_t)function, 0, NULL);
  if (thread == NULL) return false;
  CloseHandle(thread);
  return true;
}

void lm_os_sleep_ms(uint32_t ms) { Sleep(ms); }

void lm_os_wake_one(_Atomic(uint32_t) *word) {
  if (wake_by_address != NULL) wake_by_address((const void *)word);
}

static void (*thread_end_callback)(void *value);
LM_THREAD_LOCAL void *lm_os_thread_end_value = NULL;

/* The loader calls this in each thread that ends, but not when the module is unloaded while
 * threads live: then nothing of it is called any more. Not by fiber, as FlsAlloc's would be. */
static void NTAPI thread_event(PVOID module, DWORD reason, PVOID reserved) {
  (void)module;
  (void)reserved;
  void *value = LM_THREAD(lm_os_thread_end_value);
  if (reason != DLL_THREAD_DETACH || value == NULL) return;
  LM_THREAD(lm_os_thread_end_value) = NULL;
  thread_end_callback(value);
}

/* The loader's list of such functions stands from .CRT$XLA to .CRT$XLZ, sorted by name: after
 * those of the C runtime and of winpthreads, which run destructors that may free. */
extern const PIMAGE_TLS_CALLBACK lm_os_thread_event;
__attribute__((section(".CRT$XLY"), used)) const PIMAGE_TLS_CALLBACK lm_os_thread_event =
    thread_event;

void lm_os_thread_end_start(void (*callback)(void *value)) { thread_end_callback = callback; }

bool lm_os_thread_end_arm(void *value) {
  LM_THREAD(lm_os_thread_end_value) = value;
  return true;
}

void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before;
  (void)parent;
  (void)child;
}

/* ---- Output ---- */

struct lm_os_output lm_os_keep_open(int fd) { return (struct lm_os_output){fd, 0, 0}; }
int lm_os_kept_fd(const struct lm_os_output *output) { return output->fd; }

int lm_os_open_to_append(const char *path) {
  (void)path;
  return -ENOSYS;
}
int lm_os_read_file(const char *path, char *bytes, size_t capacity, size_t *length) {
  (void)path, (void)bytes, (void)capacity, (void)length;
  return ENOSYS;
}
void lm_os_close(int fd) { (void)fd; }

void lm_os_process_name(char *name, size_t capacity) {
  (void)capacity;
  name[0] = 0;
}
bool lm_os_on_signal(int signal, void (*handler)(int)) {
  (void)signal;
  (void)handler;
  return false;
}

uint32_t lm_os_thread_id(void) { return GetCurrentThreadId(); }

uint32_t lm_os_process_id(void) { return GetCurrentProcessId(); }

/* File descriptors are the C runtime's: 1 is standard output, all others standard error. */
int lm_os_write(int fd, const char *bytes, size_t length) {
  HANDLE file = GetStdHandle(fd == 1 ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
  while (length > 0) {
    DWORD written = 0;
    if (!WriteFile(file, bytes, (DWORD)lm_min(length, LM_MIB), &written, NULL) || written == 0)
      return EIO;
    bytes += written;
    length -= written;
  }
  return 0;
}

/* As the C runtime's abort ends a program. */
#define ABORT_STATUS 3

void lm_os_abort(bool tells) {
  (void)tells;
  if (IsDebuggerPresent()) DebugBreak();
  lm_os_exit(ABORT_STATUS);
}

void lm_os_exit(int status) {
  for (;;) TerminateProcess(GetCurrentProcess(), (UINT)status);
}

/* ---- The process ---- */

void lm_os_stay_loaded(void) {}
bool lm_os_is_privileged(void) { return false; }
bool lm_os_has_environment(void) { return true; }

/* The result of one call is gone with the next: only process start asks. */
const char *lm_os_environment(const char *name) {
  static char value[4096];
  DWORD last_error = GetLastError();
  DWORD length = GetEnvironmentVariableA(name, value, sizeof value);
  SetLastError(last_error);
  return length > 0 && length < sizeof value ? value : NULL;
}

bool lm_os_find_mapping(uintptr_t address, struct lm_os_mapping *mapping) {
  const DWORD writable = PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE |
                         PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION info;
  if (VirtualQuery((void *)address, &info, sizeof info) != sizeof info ||
      info.State == MEM_FREE)
    return false;
  mapping->start = (uintptr_t)info.BaseAddress;
  mapping->end = mapping->start + info.RegionSize;
  mapping->module_start = (uintptr_t)info.AllocationBase;
  mapping->readable = info.State == MEM_COMMIT && !(info.Protect & (PAGE_NOACCESS | PAGE_GUARD));
  mapping->writable = mapping->readable && (info.Protect & writable) != 0;
  mapping->path[0] = 0;
  if (info.Type == MEM_IMAGE)
    GetModuleFileNameA((HMODULE)info.AllocationBase, mapping->path, sizeof mapping->path);
  mapping->path[sizeof mapping->path - 1] = 0;
  return true;
}

/* C runtimes that a program or its libraries may have, the first one first asked. */
static const wchar_t *const c_runtimes[] = {L"ucrtbase.dll", L"msvcrt.dll", L"ucrtbased.dll",
                                            L"msvcr120.dll", L"msvcr110.dll", L"msvcr100.dll"};
#define C_RUNTIME_COUNT (sizeof c_runtimes / sizeof *c_runtimes)

void *lm_os_next_function(const char *name) {
  void *function = NULL;
  for (size_t i = 0; i < C_RUNTIME_COUNT && function == NULL; i++)
    function = function_of(c_runtimes[i], name);
  return function;
}

/* Whether a page is ordinary memory: what else a heap is asked about, it might read. */
static bool is_private_memory(const void *address) {
  MEMORY_BASIC_INFORMATION info;
  return VirtualQuery(address, &info, sizeof info) == sizeof info && info.State == MEM_COMMIT &&
         info.Type == MEM_PRIVATE && info.Protect == PAGE_READWRITE;
}

/* Alignment of all blocks of heaps. */
#define HEAP_ALIGNMENT (2 * sizeof(void *))

/* The heap of the runtime that has made `block`, or NULL. */
static HANDLE heap_of(const void *block) {
  if ((uintptr_t)block % HEAP_ALIGNMENT != 0 || !is_private_memory(block)) return NULL;
  for (size_t i = 0; i < C_RUNTIME_COUNT; i++) {
    intptr_t (*get_heap)(void) = function_of(c_runtimes[i], "_get_heap_handle");
    HANDLE heap = get_heap != NULL ? (HANDLE)get_heap() : NULL;
    if (heap != NULL && HeapValidate(heap, 0, block)) return heap;
  }
  return NULL;
}

bool lm_os_is_runtimes(const void *block) { return heap_of(block) != NULL; }

void lm_os_free_runtimes(void *block) { HeapFree(heap_of(block), 0, block); }

size_t lm_os_bytes_of_runtimes(void *block) { return HeapSize(heap_of(block), 0, block); }

/* Good against accidents, and hard to guess from outside; not meant for cryptography. */
uintptr_t lm_os_random(void) {
  LARGE_INTEGER ticks;
  FILETIME time;
  QueryPerformanceCounter(&ticks);
  GetSystemTimeAsFileTime(&time);
  uint64_t word = (uint64_t)ticks.QuadPart ^ (uint64_t)(uintptr_t)&word << 16;
  word ^= ((uint64_t)time.dwLowDateTime << 32 | GetCurrentThreadId()) * 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 29) * 0xbf58476d1ce4e5b9u;
  return (uintptr_t)(word ^ word >> 32);
}
