// builds: fast checking hardened linked
/* Filters of system calls that others publish, as far as a program without files and sockets meets them, each ending
 * the process for what it does not allow: threads that take and free, sleep and end behind them, and whose sleeping
 * blocks others free. What the filters say, on x86-64:
 *
 * - sshd: openssh-portable, sandbox-seccomp-filter.c: no new thread, no page that can be executed;
 * - renderer: chromium, sandbox/linux/seccomp-bpf-helpers/baseline_policy.cc and syscall_parameters_restrictions.cc,
 *   with the mremap of sandbox/policy/linux/bpf_renderer_policy_linux.cc;
 * - baseline: that without mremap, for system_calls=few;
 * - firecracker: resources/seccomp/x86_64-unknown-linux-musl.json, the thread vmm, for system_calls=few: each call with
 *   the very flags that musl's malloc uses;
 * - service: systemd, src/shared/seccomp-util.c: @system-service. */
#include "execute_again.h"
#include "names.h"
#include "threads.h"

#if defined(__x86_64__)

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* ---- What filters say ---- */

enum kind { ANY, EQUAL, WITHIN, REFUSED };
struct rule {
  int call;
  enum kind kind;
  unsigned argument; /* its number */
  unsigned value;    /* that it must have, or that has all of its bits; or the errno */
};
#define READ_WRITE 3

static const struct rule sshd[] = {
    {SYS_lstat, REFUSED, 0, EACCES}, {SYS_fstat, REFUSED, 0, EACCES}, {SYS_open, REFUSED, 0, EACCES},
    {SYS_openat, REFUSED, 0, EACCES}, {SYS_newfstatat, REFUSED, 0, EACCES}, {SYS_stat, REFUSED, 0, EACCES},
    {SYS_brk, ANY, 0, 0}, {SYS_clock_gettime, ANY, 0, 0}, {SYS_close, ANY, 0, 0}, {SYS_exit, ANY, 0, 0},
    {SYS_exit_group, ANY, 0, 0}, {SYS_futex, ANY, 0, 0}, {SYS_getpid, ANY, 0, 0}, {SYS_getrandom, ANY, 0, 0},
    {SYS_gettimeofday, ANY, 0, 0}, {SYS_madvise, ANY, 0, 0}, {SYS_mmap, WITHIN, 2, READ_WRITE},
    {SYS_mprotect, WITHIN, 2, READ_WRITE}, {SYS_mremap, ANY, 0, 0}, {SYS_munmap, ANY, 0, 0},
    {SYS_nanosleep, ANY, 0, 0}, {SYS_clock_nanosleep, ANY, 0, 0}, {SYS_poll, ANY, 0, 0}, {SYS_read, ANY, 0, 0},
    {SYS_rt_sigprocmask, ANY, 0, 0}, {SYS_write, ANY, 0, 0},
};

/* MAP_SHARED, PRIVATE, FIXED, ANONYMOUS, DENYWRITE, LOCKED, NORESERVE, STACK; of glibc's threads, but clone3, which
 * is refused; FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET, shared and private. */
#define CHROMIUM \
  {SYS_munmap, ANY, 0, 0}, {SYS_mmap, WITHIN, 3, 0x26833}, {SYS_mprotect, WITHIN, 2, 7}, {SYS_brk, ANY, 0, 0}, \
      {SYS_madvise, EQUAL, 2, 4}, {SYS_madvise, EQUAL, 2, 1}, {SYS_madvise, EQUAL, 2, 9}, \
      {SYS_madvise, EQUAL, 2, 0}, {SYS_madvise, EQUAL, 2, 8}, {SYS_madvise, REFUSED, 0, EPERM}, \
      {SYS_futex, EQUAL, 1, 0}, {SYS_futex, EQUAL, 1, 1}, {SYS_futex, EQUAL, 1, 3}, {SYS_futex, EQUAL, 1, 4}, \
      {SYS_futex, EQUAL, 1, 5}, {SYS_futex, EQUAL, 1, 9}, {SYS_futex, EQUAL, 1, 10}, {SYS_futex, EQUAL, 1, 128}, \
      {SYS_futex, EQUAL, 1, 129}, {SYS_futex, EQUAL, 1, 131}, {SYS_futex, EQUAL, 1, 132}, \
      {SYS_futex, EQUAL, 1, 133}, {SYS_futex, EQUAL, 1, 137}, {SYS_futex, EQUAL, 1, 138}, \
      {SYS_futex, EQUAL, 1, 393}, {SYS_futex, EQUAL, 1, 265}, {SYS_futex, REFUSED, 0, EINVAL}, \
      {SYS_clone, EQUAL, 0, 0x3d0f00}, {SYS_clone3, REFUSED, 0, ENOSYS}, {SYS_set_robust_list, REFUSED, 0, EPERM}, \
      {SYS_rseq, ANY, 0, 0}, {SYS_mincore, ANY, 0, 0}, {SYS_clock_gettime, WITHIN, 0, 7}, \
      {SYS_clock_nanosleep, WITHIN, 0, 7}, {SYS_nanosleep, ANY, 0, 0}, {SYS_getpid, ANY, 0, 0}, \
      {SYS_gettid, ANY, 0, 0}, {SYS_sched_yield, ANY, 0, 0}, {SYS_exit, ANY, 0, 0}, {SYS_exit_group, ANY, 0, 0}, \
      {SYS_restart_syscall, ANY, 0, 0}, {SYS_rt_sigaction, ANY, 0, 0}, {SYS_rt_sigprocmask, ANY, 0, 0}, \
      {SYS_rt_sigreturn, ANY, 0, 0}, {SYS_getrandom, WITHIN, 2, 1}, {SYS_write, ANY, 0, 0}, \
      {SYS_read, ANY, 0, 0}, {SYS_close, ANY, 0, 0}, {SYS_openat, REFUSED, 0, EPERM}

static const struct rule baseline[] = {CHROMIUM};
static const struct rule renderer[] = {CHROMIUM, {SYS_mremap, ANY, 0, 0}};

static const struct rule firecracker[] = {
    {SYS_exit, ANY, 0, 0}, {SYS_exit_group, ANY, 0, 0}, {SYS_open, ANY, 0, 0}, {SYS_read, ANY, 0, 0},
    {SYS_write, ANY, 0, 0}, {SYS_close, ANY, 0, 0}, {SYS_brk, ANY, 0, 0}, {SYS_clock_gettime, ANY, 0, 0},
    {SYS_mremap, ANY, 0, 0}, {SYS_munmap, ANY, 0, 0}, {SYS_rt_sigprocmask, ANY, 0, 0},
    {SYS_rt_sigreturn, ANY, 0, 0}, {SYS_sigaltstack, ANY, 0, 0}, {SYS_futex, EQUAL, 1, 0},
    {SYS_futex, EQUAL, 1, 1}, {SYS_futex, EQUAL, 1, 128}, {SYS_futex, EQUAL, 1, 137}, {SYS_futex, EQUAL, 1, 129},
    {SYS_madvise, EQUAL, 2, 4}, {SYS_mmap, EQUAL, 3, 50}, {SYS_mmap, EQUAL, 3, 1}, {SYS_mmap, EQUAL, 3, 34},
    {SYS_mmap, EQUAL, 3, 32769}, {SYS_sched_yield, ANY, 0, 0},
};

static const struct rule service[] = {
    {SYS_brk, ANY, 0, 0}, {SYS_clock_gettime, ANY, 0, 0}, {SYS_clock_nanosleep, ANY, 0, 0},
    {SYS_clone, ANY, 0, 0}, {SYS_clone3, ANY, 0, 0}, {SYS_close, ANY, 0, 0}, {SYS_exit, ANY, 0, 0},
    {SYS_exit_group, ANY, 0, 0}, {SYS_futex, ANY, 0, 0}, {SYS_getpid, ANY, 0, 0}, {SYS_gettid, ANY, 0, 0},
    {SYS_madvise, ANY, 0, 0}, {SYS_membarrier, ANY, 0, 0}, {SYS_mmap, ANY, 0, 0}, {SYS_mprotect, ANY, 0, 0},
    {SYS_mremap, ANY, 0, 0}, {SYS_munmap, ANY, 0, 0}, {SYS_nanosleep, ANY, 0, 0}, {SYS_openat, ANY, 0, 0},
    {SYS_prlimit64, ANY, 0, 0}, {SYS_read, ANY, 0, 0}, {SYS_restart_syscall, ANY, 0, 0}, {SYS_rseq, ANY, 0, 0},
    {SYS_rt_sigaction, ANY, 0, 0}, {SYS_rt_sigprocmask, ANY, 0, 0}, {SYS_rt_sigreturn, ANY, 0, 0},
    {SYS_sched_yield, ANY, 0, 0}, {SYS_set_robust_list, ANY, 0, 0}, {SYS_write, ANY, 0, 0},
};

static const struct {
  const char *name, *options;
  const struct rule *rules;
  size_t count;
  bool may_start_threads, may_sleep;
} filters[] = {
    {"sshd", "", sshd, sizeof sshd / sizeof *sshd, false, true},
    {"renderer", "", renderer, sizeof renderer / sizeof *renderer, true, true},
    {"baseline", "system_calls=few", baseline, sizeof baseline / sizeof *baseline, true, true},
    {"firecracker", "system_calls=few", firecracker, sizeof firecracker / sizeof *firecracker, false, false},
    {"service", "", service, sizeof service / sizeof *service, true, true},
};

/* ---- Setting one ---- */

#define LOAD(what) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(what)))
#define RETURN(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (unsigned)(what)))
#define SKIP_UNLESS_EQUAL(what, count) \
  ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(what), 0, (unsigned char)(count)))

static size_t write_rule(struct sock_filter *to, const struct rule *rule) {
  size_t n = 0;
  bool looks = rule->kind == EQUAL || rule->kind == WITHIN;
  to[n++] = LOAD(offsetof(struct seccomp_data, nr));
  to[n++] = SKIP_UNLESS_EQUAL(rule->call, looks ? 2 + (rule->kind == WITHIN) + 1 : 1);
  if (looks) to[n++] = LOAD(offsetof(struct seccomp_data, args) + 8 * rule->argument);
  if (rule->kind == WITHIN) to[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~rule->value);
  if (looks) to[n++] = SKIP_UNLESS_EQUAL(rule->kind == WITHIN ? 0 : rule->value, 1);
  to[n++] = RETURN(rule->kind == REFUSED ? SECCOMP_RET_ERRNO | rule->value : SECCOMP_RET_ALLOW);
  return n;
}

static bool install(const struct rule *rules, size_t count) {
  static struct sock_filter filter[1000];
  size_t n = 0;
  CHECK_THAT(count * 6 + 1, <=, sizeof filter / sizeof *filter);
  for (size_t i = 0; i < count; i++) n += write_rule(filter + n, &rules[i]);
  filter[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {(unsigned short)n, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* ---- What the program does behind it ---- */

enum { THREADS = 4, COUNT = 4000, SLEEPERS_BLOCKS = 2000 };
static void *of_sleepers[THREADS][SLEEPERS_BLOCKS];
static atomic_int stage; /* 0: before the filter, 1: behind it, 2: sleepers' blocks can be freed, 3: freed */
static atomic_int alive;
static bool may_sleep;

static void wait_a_little(void) {
  if (may_sleep) sleep_ms(5);
  else sched_yield();
}

static void wait_for(int what) {
  while (atomic_load(&stage) < what) wait_a_little();
}

static void work(double seconds) {
  static _Thread_local void *blocks[COUNT];
  for (double end = seconds_now() + seconds; seconds_now() < end; wait_a_little()) {
    for (size_t i = 0; i < COUNT; i++)
      blocks[i] = opaque(malloc(i % 97 == 0 ? 20000 + i * 99 : 16 + i * 7 % 3000));
    for (size_t i = 0; i < COUNT; i += 2) free(blocks[i]);
    for (size_t i = 1; i < COUNT; i += 2) free(blocks[i]);
    char *block = opaque(malloc(1000));
    for (size_t size = 1000; size < 20 * MIB; size += size / 2) {
      CHECK((block = opaque(realloc(block, size))) != NULL);
      block[size - 1] = 1;
    }
    free(block);
    block = opaque(calloc(1, 40 * MIB));
    CHECK_EQ(block[20 * MIB], 0);
    free(block);
    free(opaque(aligned_alloc(4096, 1 * MIB)));
  }
}

/* Starts before the filter does. */
static void *live(void *index) {
  void **own = of_sleepers[(uintptr_t)index];
  free(opaque(malloc(100)));
  atomic_fetch_add(&alive, 1);
  wait_for(1);
  work(0.3);
  for (int i = 0; i < SLEEPERS_BLOCKS; i++) own[i] = opaque(malloc(300));
  wait_for(3);
  work(0.2);
  return NULL;
}

static void *start_late(void *unused) {
  work(0.2);
  return unused;
}

static int be_behind(size_t index) {
  pthread_t threads[THREADS];
  may_sleep = filters[index].may_sleep;
  for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(live, (void *)i);
  while (atomic_load(&alive) < THREADS) wait_a_little();
  if (!install(filters[index].rules, filters[index].count)) return CANNOT;
  atomic_store(&stage, 1);
  work(0.8);
  for (int i = 0; filters[index].may_start_threads && i < 6; i++) run_in_thread(start_late, NULL);
  for (int i = 0; i < THREADS; i++)
    for (int k = 0; k < SLEEPERS_BLOCKS; k++)
      while (*(void *volatile *)&of_sleepers[i][k] == NULL) wait_a_little();
  for (int i = 0; i < THREADS; i++)
    for (int k = 0; k < SLEEPERS_BLOCKS; k++) free(of_sleepers[i][k]);
  malloc_trim(0);
  work(0.8); /* meanwhile the clock gives back what sleepers have */
  atomic_store(&stage, 3);
  for (int i = 0; i < THREADS; i++) /* glibc's pthread_join waits by a call that musl's does not make */
    while (pthread_tryjoin_np(threads[i], NULL) != 0) wait_a_little();
  malloc_trim(0);
  return 0;
}

int main(int count, char **arguments) {
  if (count > 1) _exit(be_behind((size_t)atoi(arguments[1])));
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    char number[] = {(char)('0' + i), 0};
    setenv("LOAM_OPTIONS", filters[i].options, 1);
    printf("%s\n", filters[i].name);
    fflush(stdout);
    if (run_again(NULL, "child", number) == CANNOT) return CANNOT;
  }
  return 0;
}

#else
int main(void) { return CANNOT; }
#endif
