/* Linux: handlers of signals, and how a process ends by one. sigaction(2), tgkill(2). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <signal.h>

#include "os/os.h"
#include "os/syscall_linux.h"

bool lm_os_on_signal(int signal, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
  return sigaction(signal, &action, NULL) == 0;
}

static lm_os_access_reporter *access_reporter;
static struct sigaction action_without_reporter;

/* As if there were no handler of ours. */
static void pass_on(int signal, siginfo_t *info, void *context) {
  const struct sigaction *action = &action_without_reporter;
  if ((action->sa_flags & SA_SIGINFO) != 0) {
    action->sa_sigaction(signal, info, context);
  } else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
    action->sa_handler(signal);
  } else {
    if (info->si_code <= 0 && action->sa_handler == SIG_IGN) return;
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(signal, &by_default, NULL);
    /* What an instruction has brought about comes again with it; what was sent is sent again. */
    if (info->si_code <= 0)
      lm_syscall6(SYS_tgkill, lm_os_process_id(), lm_os_thread_id(), signal, 0, 0, 0);
  }
}

static void on_access(int signal, siginfo_t *info, void *context) {
  if (info->si_code <= 0 || !access_reporter(info->si_addr, context))
    pass_on(signal, info, context);
}

bool lm_os_on_access(lm_os_access_reporter *report) {
  struct sigaction action = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  access_reporter = report;
  return sigaction(SIGSEGV, &action, &action_without_reporter) == 0;
}

/* abort(3) without the C library: the default action of SIGABRT, even if it is caught. */
void lm_os_abort(bool tells) {
  long pid = lm_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
  long tid = lm_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
  } action = {NULL, 0, NULL, 0};
  uint64_t abort_only = (uint64_t)1 << (SIGABRT - 1);
  /* First as a handler may wish to see it, then by force. */
  if (tells) lm_syscall6(SYS_tgkill, pid, tid, SIGABRT, 0, 0, 0);
  lm_syscall6(SYS_rt_sigaction, SIGABRT, (long)&action, 0, 8, 0, 0);
  lm_syscall6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&abort_only, 0, 8, 0, 0);
  lm_syscall6(SYS_tgkill, pid, tid, SIGABRT, 0, 0, 0);
  for (;;) lm_syscall6(SYS_exit_group, 134, 0, 0, 0, 0, 0);
}

void lm_os_exit(int status) {
  for (;;) lm_syscall6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}
