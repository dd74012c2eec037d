/* The C library's hooks for threads, which are weak references where it may lack them, and threads
 * that wait: futex(2). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "os/fault.h"
#include "os/files_linux.h"
#include "os/os.h"
#include "os/syscall_linux.h"

/* As in <linux/futex.h>, which musl's compiler does not find. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms) {
  lm_futex_time time[2] = {(lm_futex_time)(ms / 1000), (lm_futex_time)(ms % 1000) * 1000000};
  lm_syscall6(LM_SYS_FUTEX, (long)word, FUTEX_WAIT_PRIVATE, (long)expected, (long)time, 0, 0);
}

void lm_os_wake_one(_Atomic(uint32_t) *word) {
  lm_syscall6(LM_SYS_FUTEX, (long)word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Weak references bring nothing out of an archive, so that a static program needs strong ones. A
 * shared library must load in programs that have no threads, whose C library may lack these. */
#if LM_SHARED
#define KEYS_ARE_OPTIONAL 1
#elif defined(__GLIBC__)
#define KEYS_ARE_OPTIONAL (!__GLIBC_PREREQ(2, 34))
#else
#define KEYS_ARE_OPTIONAL 0
#endif
#if KEYS_ARE_OPTIONAL
#pragma weak pthread_create
#pragma weak pthread_detach
#pragma weak pthread_key_create
#pragma weak pthread_mutex_init
#pragma weak pthread_mutex_lock
#pragma weak pthread_mutex_unlock
#pragma weak pthread_mutexattr_init
#pragma weak pthread_mutexattr_settype
#pragma weak pthread_setspecific
#endif

/* glibc's, from 2.32 on: false once there has been another thread. */
extern char __libc_single_threaded LM_WEAK;

bool lm_os_is_single_threaded(void) {
  if (&__libc_single_threaded != NULL && __libc_single_threaded) return true;
  /* A folder for each thread, beside "." and ".."; each has a link to this one. */
  struct lm_file_status status;
  return lm_read_status(AT_FDCWD, "/proc/self/task", &status) == 0 && status.link_count == 2 + 1;
}

/* A set as the kernel has it, of 64 signals. */
#define WORD_SIGNALS (8 * sizeof(unsigned long))
struct signals {
  unsigned long words[64 / WORD_SIGNALS];
};
#define FIRST_OF_LIBRARY 32

/* All but those that the C library keeps, from the first to SIGRTMIN: by them it has every thread
 * change its user and group (setuid and its like), and waits until each has. */
static struct signals all_of_programs(void) {
  struct signals set;
  memset(&set, 0xff, sizeof set);
  for (size_t i = FIRST_OF_LIBRARY - 1; i + 1 < (size_t)SIGRTMIN; i++)
    set.words[i / WORD_SIGNALS] &= ~(1ul << i % WORD_SIGNALS);
  return set;
}

/* Whoever starts a thread waits until that has made the calls that it begins with: the program may
 * forbid them next (docs/sandboxes.md). */
struct beginning {
  void (*function)(void);
  _Atomic(uint32_t) is_over; /* written by the new thread, read by who waits; pairs with nothing */
};

static void *run_thread(void *argument) {
  struct beginning *beginning = argument;
  void (*function)(void) = beginning->function;
  lm_syscall6(SYS_prctl, PR_SET_NAME, (long)"loam", 0, 0, 0, 0);
  lm_store_relaxed(&beginning->is_over, 1);
  lm_os_wake_one(&beginning->is_over); /* which may be no such word any longer: nobody wakes then */
  function();
  return NULL;
}

bool lm_os_start_thread(void (*function)(void)) {
#if KEYS_ARE_OPTIONAL
  if (pthread_create == NULL || pthread_detach == NULL) return false;
#endif
  pthread_t thread;
  struct signals blocked = all_of_programs(), before;
  long size = sizeof blocked;
  lm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&blocked, (long)&before, size, 0, 0);
  struct beginning beginning = {function, 0};
  bool started = pthread_create(&thread, NULL, run_thread, &beginning) == 0;
  while (started && lm_load_relaxed(&beginning.is_over) == 0)
    lm_os_wait(&beginning.is_over, 0, 1000);
  lm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, size, 0, 0);
  if (started) pthread_detach(thread);
  return started;
}

void lm_os_sleep_ms(uint32_t ms) {
  static _Atomic(uint32_t) never_woken;
  lm_os_wait(&never_woken, 0, ms);
}

static pthread_key_t thread_end_key;
static bool thread_end_key_valid;
static void (*thread_end_callback)(void *value);
/* Does not put itself off to a later round of destructors, though those of others may still
 * allocate: there are four, and nothing tells in which of them the value was set. */
static void thread_end_destructor(void *value) { thread_end_callback(value); }

/* Free, to be copied: lm_os_thread_id. Constant after lm_os_thread_end_start. */
static pthread_mutex_t checking_mutex;
static bool checking_mutex_valid;

static void make_checking_mutex(void) {
  pthread_mutexattr_t attributes;
#if KEYS_ARE_OPTIONAL
  if (pthread_mutex_init == NULL || pthread_mutex_lock == NULL || pthread_mutex_unlock == NULL ||
      pthread_mutexattr_init == NULL || pthread_mutexattr_settype == NULL)
    return;
#endif
  if (pthread_mutexattr_init(&attributes) != 0 ||
      pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) != 0)
    return;
  checking_mutex_valid = pthread_mutex_init(&checking_mutex, &attributes) == 0;
}

void lm_os_thread_end_start(void (*callback)(void *value)) {
  thread_end_callback = callback;
#if KEYS_ARE_OPTIONAL
  if (pthread_key_create == NULL || pthread_setspecific == NULL) return;
#endif
  thread_end_key_valid = pthread_key_create(&thread_end_key, thread_end_destructor) == 0;
  make_checking_mutex();
}

bool lm_os_thread_end_arm(void *value) {
  if (lm_fault_here()) return false;
  return !thread_end_key_valid || pthread_setspecific(thread_end_key, value) == 0;
}

/* A lock that checks who has it knows its owner by number: the third word of it in glibc, whose
 * second one is 0, the second one in musl. A thread that takes a fresh one finds its own number
 * without a system call. */
#define OWNER_MASK 0x3fffffff

uint32_t lm_os_thread_id(void) {
  if (checking_mutex_valid) {
    union {
      pthread_mutex_t mutex;
      uint32_t words[3];
    } lock = {.mutex = checking_mutex};
    if (pthread_mutex_lock(&lock.mutex) == 0) {
      uint32_t owner = lock.words[2] != 0 ? lock.words[2] : lock.words[1] & OWNER_MASK;
      pthread_mutex_unlock(&lock.mutex);
      if (owner != 0) return owner;
    }
  }
  return (uint32_t)lm_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0); /* a C library without threads */
}
