// builds: fast checking hardened linked
/* sshd with background=on admitted nobody: in its forked child setuid hung. The C library has every
 * thread make such a call, by a signal that the thread of loam's own had blocked. Expected: with
 * each option these calls return, threads are cancelled, timers start theirs, and signals of the
 * program's go to its own threads; in the parent and in the child of a fork.
 *
 * The program starts itself with each of the options. */
#include "execute_again.h"
#include "threads.h"

#include <grp.h>
#include <signal.h>

enum { LIMIT_SECONDS = 20 };

static void allocate(void) {
  for (size_t i = 0; i < 1000; i++) free(opaque(malloc(i * 10)));
}

static void set_groups(void) {
  gid_t groups[64];
  int count = getgroups(64, groups);
  if (count >= 0) setgroups((size_t)count, groups); /* which may be forbidden, but must return */
}

static void set_users_and_groups(void) {
  CHECK_EQ(setuid(getuid()), 0);
  CHECK_EQ(setgid(getgid()), 0);
  CHECK_EQ(seteuid(geteuid()), 0);
  CHECK_EQ(setegid(getegid()), 0);
  CHECK_EQ(setreuid(getuid(), geteuid()), 0);
  CHECK_EQ(setregid(getgid(), getegid()), 0);
  CHECK_EQ(setresuid((uid_t)-1, geteuid(), (uid_t)-1), 0);
  CHECK_EQ(setresgid((gid_t)-1, getegid(), (gid_t)-1), 0);
  set_groups();
}

static void *wait_long(void *unused) {
  for (;;) {
    allocate();
    sleep_ms(10);
  }
  return unused;
}

static void cancel_threads(void) {
  for (int i = 0; i < 20; i++) {
    pthread_t thread = start_thread(wait_long, NULL);
    sleep_ms(1);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK(join_thread(thread) == PTHREAD_CANCELED);
  }
}

static int notice_count; /* relaxed */
static void notice(union sigval unused) {
  (void)unused;
  allocate();
  __atomic_add_fetch(&notice_count, 1, __ATOMIC_RELAXED);
}

static void use_timers(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notice};
  struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}, .it_interval = {.tv_nsec = 5000000}};
  timer_t timer;
  __atomic_store_n(&notice_count, 0, __ATOMIC_RELAXED);
  CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
  while (__atomic_load_n(&notice_count, __ATOMIC_RELAXED) < 3) sleep_ms(1);
  CHECK_EQ(timer_delete(timer), 0);
}

/* Blocked in all of the program's threads, as whoever waits for signals does it: one that is
 * delivered to another thread ends the process. */
static void wait_for_signals(void) {
  sigset_t set, before;
  int signals[] = {SIGRTMIN, SIGRTMAX, SIGTERM, SIGUSR1};
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&set, signals[i]);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    int signal;
    CHECK_EQ(kill(getpid(), signals[i]), 0);
    CHECK_EQ(sigwait(&set, &signal), 0);
    CHECK_EQ(signal, signals[i]);
  }
  CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static void do_all(void) {
  alarm(LIMIT_SECONDS);
  allocate();
  sleep_ms(50); /* so that loam's thread has begun */
  set_users_and_groups();
  cancel_threads();
  set_users_and_groups();
  wait_for_signals(); /* before there are threads of timers, which block nothing */
  use_timers();
  set_users_and_groups();
}

static int do_all_in_both(void) {
  int status;
  do_all();
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    do_all();
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  return 0;
}

int main(int count, char **arguments) {
  static const char *const options[] = {"", "background=on", "guard_ms=10", "profile=on",
                                        "background=on,guard_ms=10,profile=on"};
  if (count > 1) return do_all_in_both();
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    char text[128];
    snprintf(text, sizeof text, "%s%sprofile_file=/dev/null", options[i], *options[i] ? "," : "");
    CHECK_EQ(setenv("LOAM_OPTIONS", text, 1), 0);
    CHECK_EQ(run_again(NULL, arguments[0], "again"), 0);
  }
  return 0;
}
