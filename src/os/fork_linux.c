/* Linux: how a C library tells of forks. Dynamic ones take handlers. Static ones call functions of
 * their own malloc by name, after all handlers and after taking their own locks; what replaces that
 * malloc defines those names. Both at once would take our locks twice. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/mman.h>

#include "os/os.h"
#include "os/panic.h"
#include "os/syscall_linux.h"

/* glibc has pthread_atfork only as a function to link into each library, around the first one. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) LM_WEAK;
#if LM_SHARED || !LM_NO_OVERRIDE
#pragma weak pthread_atfork
#endif

static struct {
  void (*before)(void), (*parent)(void), (*child)(void);
} fork_handlers; /* constant after lm_os_fork_start */

static void call(void (*handler)(void)) {
  if (handler != NULL) handler();
}

/* ---- A process copied by the system call alone (fork, clone), which calls no handlers ---- */

#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

/* In a page of its own that is cleared in a copy of the process (Linux 4.14), but not in a child
 * that shares its memory, as vfork's does. */
struct copy_mark {
  _Atomic(uint32_t) intact; /* set as a second thread begins and in the child of a fork, cleared by
                             * the kernel; read by any thread, pairs with nothing */
  _Atomic(uint32_t) number; /* lm_os_copy_number; 0: not given yet. Written by any thread that asks
                             * first, cleared by the kernel; pairs with nothing */
};
/* NULL: none yet, or there cannot be one. Written by whoever needs it first; its release pairs with
 * the acquire of others. */
static _Atomic(struct copy_mark *) copy_page;
/* The same, where `intact` is of use: there has been more than one thread. Written by one of the
 * threads that begin; its release pairs with the acquire of whoever begins later or waits for a
 * lock. */
static _Atomic(struct copy_mark *) copy_mark;
/* Of threads that have begun: each adds itself. Pairs with nothing. */
static _Atomic(uint32_t) begun_count;

/* NULL if there can be none. */
static struct copy_mark *find_mark(void) {
  struct copy_mark *page = lm_load_acquire(&copy_page);
  void *made;
  if (LM_LIKELY(page != NULL)) return page;
  if (lm_os_map(lm_os.page_bytes, lm_os.page_bytes, &made) != 0) return NULL;
  long size = (long)lm_os.page_bytes;
  bool wiped = lm_syscall6(SYS_madvise, (long)made, size, MADV_WIPEONFORK, 0, 0, 0) == 0;
  if (wiped && lm_cas_release(&copy_page, &page, made)) return made;
  lm_os_release(made, lm_os.page_bytes);
  return wiped ? lm_load_acquire(&copy_page) : NULL;
}

void lm_os_thread_begins(void) {
  if (lm_add_relaxed(&begun_count, 1) == 0 || lm_load_acquire(&copy_mark) != NULL) return;
  struct copy_mark *mark = find_mark();
  if (mark == NULL) return;
  lm_store_relaxed(&mark->intact, 1);
  lm_store_release(&copy_mark, mark);
}

uint32_t lm_os_copy_number(void) {
  static _Atomic(uint32_t) given; /* by this process and those it is a copy of; as `number` */
  struct copy_mark *page = find_mark();
  if (LM_UNLIKELY(page == NULL)) return lm_os_process_id();
  uint32_t number = lm_load_relaxed(&page->number);
  if (LM_LIKELY(number != 0)) return number;
  uint32_t next = lm_add_relaxed(&given, 1) + 1;
  return lm_cas_acquire(&page->number, &number, next) ? next : number;
}

static void note_intact(void) {
  struct copy_mark *mark = lm_load_acquire(&copy_mark);
  if (mark != NULL) lm_store_relaxed(&mark->intact, 1);
}

static void call_in_child(void) {
  call(fork_handlers.child);
  note_intact();
}

/* That the mark was found cleared, after it is set again. Written and read by any thread of the
 * copy, pairs with nothing. */
static _Atomic(uint32_t) is_noticed_copy;

bool lm_os_is_bare_copy(void) {
  struct copy_mark *mark = lm_load_acquire(&copy_mark);
  if (mark == NULL) return false;
  return lm_load_relaxed(&mark->intact) == 0 || lm_load_relaxed(&is_noticed_copy) != 0;
}

/* While there is but one thread, whoever held the locks is gone. */
void lm_os_notice_copy(void) {
  struct copy_mark *mark = lm_load_acquire(&copy_mark);
  if (mark == NULL || lm_load_relaxed(&mark->intact) != 0 || !lm_os_is_single_threaded()) return;
  lm_store_relaxed(&is_noticed_copy, 1);
  call_in_child();
}

/* ---- fork ---- */

/* glibc's lock of its list of streams. Its fork takes it, after all handlers: a thread that flushes
 * all streams holds it while it waits for a stream, whose holder may wait for us. So it is taken
 * before our locks. It is recursive, and of nobody in the child. */
extern void _IO_list_lock(void) LM_WEAK;
extern void _IO_list_unlock(void) LM_WEAK;
extern void _IO_list_resetlock(void) LM_WEAK;

/* In a process with one thread there is nobody else to hold a lock, but the thread itself may: when
 * it forks in a handler of a signal that came amid malloc or stdio. Nothing is taken then, and the
 * child finds the locks as its thread left them. So it is when a handler of SIGABRT forks, whose
 * thread is ending the program for misuse and may hold any of them. */
static LM_THREAD_LOCAL bool takes_nothing = false; /* from before a fork to after it */

static bool takes_list(void) {
  return _IO_list_lock != NULL && _IO_list_unlock != NULL && _IO_list_resetlock != NULL;
}

static void handle_before(void) {
  takes_nothing = lm_os_is_single_threaded() || LM_THREAD(lm_thread_ends_program);
  if (takes_nothing) return;
  if (takes_list()) _IO_list_lock();
  call(fork_handlers.before);
}
static void handle_in_parent(void) {
  if (takes_nothing) return;
  call(fork_handlers.parent);
  if (takes_list()) _IO_list_unlock();
}
static void handle_in_child(void) {
  if (takes_nothing) {
    note_intact(); /* whoever holds a lock is here, too */
    return;
  }
  call_in_child();
  if (takes_list()) _IO_list_resetlock();
}

static void register_handlers(void) {
  if (__register_atfork != NULL)
    __register_atfork(handle_before, handle_in_parent, handle_in_child, NULL);
#if LM_SHARED || !LM_NO_OVERRIDE
  else if (pthread_atfork == NULL) return;
#endif
  else pthread_atfork(handle_before, handle_in_parent, handle_in_child);
}

static void set_handlers(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  fork_handlers.before = before;
  fork_handlers.parent = parent;
  fork_handlers.child = child;
}

#if LM_SHARED || LM_NO_OVERRIDE

void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  set_handlers(before, parent, child);
  register_handlers();
}

#else

/* musl, 1.2.2 and later: -1 before, 0 in the parent, 1 in the child. */
void __malloc_atfork(int where);
void __malloc_atfork(int where) {
  if (where < 0) call(fork_handlers.before);
  else if (where == 0) call(fork_handlers.parent);
  else call_in_child();
}

/* glibc, 2.24 and later. */
void __malloc_fork_lock_parent(void);
void __malloc_fork_lock_parent(void) { call(fork_handlers.before); }
void __malloc_fork_unlock_parent(void);
void __malloc_fork_unlock_parent(void) { call(fork_handlers.parent); }
void __malloc_fork_unlock_child(void);
void __malloc_fork_unlock_child(void) { call_in_child(); }

/* In static programs only: musl's fork has had the first as long as it has called the above, and
 * glibc's start calls the second. */
extern char static_musl_fork[] __asm__("__bump_lockptr") LM_WEAK;
extern char static_glibc_start[] __asm__("__libc_setup_tls") LM_WEAK;

void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  set_handlers(before, parent, child);
  if (static_musl_fork == NULL && static_glibc_start == NULL) register_handlers();
}

#endif
