/* macOS and FreeBSD, by what POSIX has and a few calls of their own. Only the names with the prefix
 * loam_ are there. Run on Linux alone, with stand-ins for those calls (tests/unix). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#if defined(__FreeBSD__)
#include <pthread_np.h>
#include <sys/types.h>
#include <sys/umtx.h>
#endif

#include <dlfcn.h>

#include "base/bits.h"
#include "os/fault.h"
#include "os/os.h"

#if !LM_NO_OVERRIDE
#error "loam: on this system only as the functions with the prefix loam_: define LOAM_NO_OVERRIDE"
#endif

/* Both map more than there is, and count what is written to. */
struct lm_os_facts lm_os = {
    .page_bytes = 4096, .page_shift = 12, .cpu_count = 1, .overcommit = true};

/* Calls of the C library set errno, which malloc must leave alone. */
#define KEEPING_ERRNO(expression)                \
  __extension__({                                \
    int lm_errno_before = errno;                 \
    __typeof__(expression) lm_value = expression; \
    errno = lm_errno_before;                     \
    lm_value;                                    \
  })

void lm_os_start(void) {
  long page_bytes = sysconf(_SC_PAGESIZE), cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
  if (page_bytes >= 4096 && lm_is_power_of_two((size_t)page_bytes))
    lm_os.page_bytes = (size_t)page_bytes;
  lm_os.page_shift = lm_log2_floor(lm_os.page_bytes);
  lm_os.cpu_count = cpu_count > 0 ? (unsigned)cpu_count : 1;
}

/* ---- Memory ---- */

static int map_at(void *place, size_t size, int protection, int flags, void **result) {
  int before = errno, error = 0;
  void *address = mmap(place, size, protection, MAP_PRIVATE | MAP_ANON | flags, -1, 0);
  if (address == MAP_FAILED) error = errno;
  else *result = address;
  errno = before;
  return error;
}

static void unmap(char *start, char *end) {
  int before = errno;
  if (end > start) munmap(start, (size_t)(end - start));
  errno = before;
}

/* With some room to spare, of which what does not lie on the alignment is cut. */
static int map_aligned(size_t size, size_t alignment, int protection, void **result) {
  void *room = NULL;
  size_t spare = alignment > lm_os.page_bytes ? alignment : 0;
  if (lm_fault_here() || size + spare < size) return ENOMEM;
  int error = map_at(NULL, size + spare, protection, 0, &room);
  if (error != 0) return error;
  char *start = (char *)lm_align_up((uintptr_t)room, lm_max(alignment, lm_os.page_bytes));
  unmap(room, start);
  unmap(start + size, (char *)room + size + spare);
  *result = start;
  return 0;
}

int lm_os_reserve(size_t size, size_t alignment, void **result) {
  return map_aligned(size, alignment, PROT_READ | PROT_WRITE, result);
}

int lm_os_reserve_zero(size_t size, void **result) {
  return map_aligned(size, lm_os.page_bytes, PROT_READ, result);
}

/* Whole pages: tags of a region take a part of one. */
int lm_os_commit(void *address, size_t size) {
  if (lm_fault_here()) return ENOMEM;
  uintptr_t start = lm_align_down((uintptr_t)address, lm_os.page_bytes);
  size_t bytes = lm_align_up((uintptr_t)address + size, lm_os.page_bytes) - start;
  return KEEPING_ERRNO(mprotect((void *)start, bytes, PROT_READ | PROT_WRITE)) == 0 ? 0 : ENOMEM;
}

/* A new mapping in the place of the old one: after madvise there pages need not be zero. */
int lm_os_purge(void *address, size_t size) {
  void *same;
  if (lm_fault_here()) return ENOMEM;
  return map_at(address, size, PROT_READ | PROT_WRITE, MAP_FIXED, &same);
}

int lm_os_map(size_t size, size_t alignment, void **result) {
  return map_aligned(size, alignment, PROT_READ | PROT_WRITE, result);
}

void lm_os_release(void *address, size_t size) { unmap(address, (char *)address + size); }

int lm_os_remap(void *address, size_t size, size_t new_size, void **result) {
  if (new_size <= size) {
    unmap((char *)address + new_size, (char *)address + size);
    *result = address;
    return 0;
  }
  void *moved;
  int error = lm_os_map(new_size, lm_os.page_bytes, &moved);
  if (error != 0) return error;
  memcpy(moved, address, size);
  lm_os_release(address, size);
  *result = moved;
  return 0;
}

size_t lm_os_resident_bytes(const void *address, size_t size) {
  char states[256];
  size_t count = 0, step = sizeof states * lm_os.page_bytes;
  for (size_t done = 0; done < size; done += step) {
    size_t bytes = lm_min(step, size - done);
    void *part = (char *)(uintptr_t)address + done;
    if (KEEPING_ERRNO(mincore(part, bytes, (void *)states)) != 0) return size;
    for (size_t i = 0; i < bytes >> lm_os.page_shift; i++) count += (states[i] & 1) != 0;
  }
  return count << lm_os.page_shift;
}

/* In bytes on macOS, in KiB on FreeBSD. */
#if defined(__APPLE__)
#define PEAK_UNIT 1
#else
#define PEAK_UNIT LM_KIB
#endif

void lm_os_read_residency(struct lm_os_residency *residency) {
  struct rusage usage;
  bool told = KEEPING_ERRNO(getrusage(RUSAGE_SELF, &usage)) == 0;
  residency->resident_bytes = 0;
  residency->peak_bytes = told ? (size_t)usage.ru_maxrss * PEAK_UNIT : 0;
}

uint64_t lm_os_address_space_limit(void) {
  struct rlimit limit;
  if (KEEPING_ERRNO(getrlimit(RLIMIT_AS, &limit)) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  return limit.rlim_cur;
}

/* ---- Time ---- */

uint64_t lm_os_clock_us(void) {
  struct timespec now;
  if (KEEPING_ERRNO(clock_gettime(CLOCK_MONOTONIC, &now)) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t lm_os_clock_ms(void) { return lm_os_clock_us() / 1000; }

void lm_os_sleep_ms(uint32_t ms) {
  struct timespec span = {ms / 1000, (long)(ms % 1000) * 1000000};
  (void)KEEPING_ERRNO(nanosleep(&span, NULL));
}

/* ---- Threads ---- */

#if defined(__APPLE__)
/* What the system's own locks wait by, since macOS 10.12. */
extern int __ulock_wait(uint32_t operation, void *address, uint64_t value, uint32_t timeout_us);
extern int __ulock_wake(uint32_t operation, void *address, uint64_t value);
#define COMPARE_AND_WAIT 1

void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms) {
  (void)KEEPING_ERRNO(
      __ulock_wait(COMPARE_AND_WAIT, (void *)(uintptr_t)word, expected, ms * 1000));
}

void lm_os_wake_one(_Atomic(uint32_t) *word) {
  (void)KEEPING_ERRNO(__ulock_wake(COMPARE_AND_WAIT, (void *)(uintptr_t)word, 0));
}

uint32_t lm_os_thread_id(void) {
  uint64_t id = 0;
  pthread_threadid_np(NULL, &id);
  return (uint32_t)id;
}
#else
void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms) {
  void *address = (void *)(uintptr_t)word;
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  (void)KEEPING_ERRNO(_umtx_op(address, UMTX_OP_WAIT_UINT_PRIVATE, expected, NULL, &time));
}

void lm_os_wake_one(_Atomic(uint32_t) *word) {
  void *address = (void *)(uintptr_t)word;
  (void)KEEPING_ERRNO(_umtx_op(address, UMTX_OP_WAKE_PRIVATE, 1, NULL, NULL));
}

uint32_t lm_os_thread_id(void) { return (uint32_t)pthread_getthreadid_np(); }
#endif

static void *run_thread(void *function) {
  ((void (*)(void))(uintptr_t)function)();
  return NULL;
}

bool lm_os_start_thread(void (*function)(void)) {
  int before = errno;
  sigset_t all, own;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &own);
  bool started = pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)function) == 0;
  pthread_sigmask(SIG_SETMASK, &own, NULL);
  if (started) pthread_detach(thread);
  errno = before;
  return started;
}

static pthread_key_t thread_end_key;
static bool thread_end_key_valid;
static void (*thread_end_callback)(void *value);
static void thread_end_destructor(void *value) { thread_end_callback(value); }

void lm_os_thread_end_start(void (*callback)(void *value)) {
  thread_end_callback = callback;
  thread_end_key_valid = pthread_key_create(&thread_end_key, thread_end_destructor) == 0;
}

bool lm_os_thread_end_arm(void *value) {
  if (lm_fault_here()) return false;
  return !thread_end_key_valid || pthread_setspecific(thread_end_key, value) == 0;
}

void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  pthread_atfork(before, parent, child);
}

/* ---- Output ---- */

/* High enough to be in nobody's way. */
#define KEPT_FD_MIN 200

static int identify(int fd, struct lm_os_output *output) {
  struct stat status;
  if (KEEPING_ERRNO(fstat(fd, &status)) != 0) return EBADF;
  output->device = (uint64_t)status.st_dev;
  output->file = (uint64_t)status.st_ino;
  return 0;
}

struct lm_os_output lm_os_keep_open(int fd) {
  struct lm_os_output output = {-1, 0, 0};
  if (identify(fd, &output) != 0) return output;
  int kept = KEEPING_ERRNO(fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD_MIN));
  output.fd = kept >= 0 ? kept : fd;
  return output;
}

int lm_os_kept_fd(const struct lm_os_output *output) {
  struct lm_os_output found = {-1, 0, 0};
  if (output->fd < 0 || identify(output->fd, &found) != 0) return -1;
  return found.device == output->device && found.file == output->file ? output->fd : -1;
}

int lm_os_open_to_append(const char *path) {
  int before = errno;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
  int error = errno;
  errno = before;
  return fd < 0 ? -error : fd;
}

int lm_os_read_file(const char *path, char *bytes, size_t capacity, size_t *length) {
  int before = errno, error = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) error = errno;
  for (*length = 0; error == 0 && *length < capacity;) {
    ssize_t count = read(fd, bytes + *length, capacity - *length);
    if (count == 0) break;
    if (count > 0) *length += (size_t)count;
    else if (errno != EINTR) error = errno;
  }
  if (fd >= 0) close(fd);
  errno = before;
  return error;
}

void lm_os_close(int fd) { (void)KEEPING_ERRNO(close(fd)); }

int lm_os_write(int fd, const char *bytes, size_t length) {
  int before = errno, error = 0;
  while (length > 0 && error == 0) {
    ssize_t written = write(fd, bytes, length);
    if (written <= 0) {
      error = written == 0 ? EIO : errno;
    } else {
      bytes += written;
      length -= (size_t)written;
    }
  }
  errno = before;
  return error;
}

bool lm_os_on_signal(int signal, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  return KEEPING_ERRNO(sigaction(signal, &action, NULL)) == 0;
}

void lm_os_abort(bool tells) {
  if (!tells) signal(SIGABRT, SIG_DFL);
  abort();
}
void lm_os_exit(int status) { _exit(status); }

/* ---- The process ---- */

uint32_t lm_os_process_id(void) { return (uint32_t)getpid(); }

void lm_os_process_name(char *name, size_t capacity) {
  size_t length = 0;
  for (const char *own = getprogname(); own != NULL && *own != 0 && length + 1 < capacity;)
    name[length++] = *own++;
  name[length] = 0;
}

bool lm_os_is_privileged(void) { return issetugid() != 0; }
bool lm_os_has_environment(void) { return true; }
const char *lm_os_environment(const char *name) { return getenv(name); }

/* What a message says of an address is the module that it is in, if any. */
bool lm_os_find_mapping(uintptr_t address, struct lm_os_mapping *mapping) {
  Dl_info info;
  if (dladdr((void *)address, &info) == 0 || info.dli_fname == NULL) return false;
  memset(mapping, 0, sizeof *mapping);
  mapping->start = mapping->module_start = (uintptr_t)info.dli_fbase;
  mapping->end = address + 1;
  mapping->readable = mapping->executable = true;
  strncpy(mapping->path, info.dli_fname, sizeof mapping->path - 1);
  return true;
}

/* A handle that is not given back. */
void lm_os_stay_loaded(void) {
  Dl_info info;
  if (dladdr((void *)&lm_os, &info) != 0 && info.dli_fname != NULL)
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

uintptr_t lm_os_random(void) {
  uintptr_t word;
  arc4random_buf(&word, sizeof word);
  return word;
}
