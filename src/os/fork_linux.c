/* Linux: how a C library tells of forks. Dynamic ones take handlers. Static ones call functions of
 * their own malloc by name, after all handlers and after taking their own locks; what replaces that
 * malloc defines those names. Both at once would take our locks twice. */
#include <pthread.h>

#include "os/os.h"

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

/* glibc's lock of its list of streams. Its fork takes it, after all handlers: a thread that flushes
 * all streams holds it while it waits for a stream, whose holder may wait for us. So it is taken
 * before our locks. It is recursive, and of nobody in the child. */
extern void _IO_list_lock(void) LM_WEAK;
extern void _IO_list_unlock(void) LM_WEAK;
extern void _IO_list_resetlock(void) LM_WEAK;

/* In a process with one thread there is nobody else to hold a lock, but the thread itself may: when
 * it forks in a handler of a signal that came amid malloc or stdio. Nothing is taken then, and the
 * child finds the locks as its thread left them. */
static bool takes_nothing; /* written before a fork, under all locks unless true; read after it */

static bool takes_list(void) {
  return _IO_list_lock != NULL && _IO_list_unlock != NULL && _IO_list_resetlock != NULL;
}

static void handle_before(void) {
  if (lm_os_is_single_threaded()) {
    takes_nothing = true;
    return;
  }
  if (takes_list()) _IO_list_lock();
  call(fork_handlers.before);
  takes_nothing = false;
}
static void handle_in_parent(void) {
  if (takes_nothing) return;
  call(fork_handlers.parent);
  if (takes_list()) _IO_list_unlock();
}
static void handle_in_child(void) {
  if (takes_nothing) return;
  call(fork_handlers.child);
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
  else call(where == 0 ? fork_handlers.parent : fork_handlers.child);
}

/* glibc, 2.24 and later. */
void __malloc_fork_lock_parent(void);
void __malloc_fork_lock_parent(void) { call(fork_handlers.before); }
void __malloc_fork_unlock_parent(void);
void __malloc_fork_unlock_parent(void) { call(fork_handlers.parent); }
void __malloc_fork_unlock_child(void);
void __malloc_fork_unlock_child(void) { call(fork_handlers.child); }

/* In static programs only: musl's fork has had the first as long as it has called the above, and
 * glibc's start calls the second. */
extern char static_musl_fork[] __asm__("__bump_lockptr") LM_WEAK;
extern char static_glibc_start[] __asm__("__libc_setup_tls") LM_WEAK;

void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  set_handlers(before, parent, child);
  if (static_musl_fork == NULL && static_glibc_start == NULL) register_handlers();
}

#endif
