/* Linux system calls without the C library: they leave errno alone and work before the C library
 * has been started. Each returns what the kernel returns: a value, or minus an errno. */
#ifndef LM_OS_SYSCALL_LINUX_H
#define LM_OS_SYSCALL_LINUX_H

#include <sys/syscall.h>

#include "base/compiler.h"

#if defined(__x86_64__)
LM_INLINE long lm_syscall6(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
LM_INLINE long lm_syscall6(long n, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = n;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
#elif defined(__riscv) && __riscv_xlen == 64
LM_INLINE long lm_syscall6(long n, long a, long b, long c, long d, long e, long f) {
  register long a7 __asm__("a7") = n;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e;
  register long a5 __asm__("a5") = f;
  __asm__ volatile("ecall"
                   : "+r"(a0)
                   : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                   : "memory");
  return a0;
}
#else
/* Elsewhere through the C library, whose errno is put back. */
#include <errno.h>
#include <unistd.h>
LM_INLINE long lm_syscall6(long n, long a, long b, long c, long d, long e, long f) {
  int saved = errno;
#if defined(__s390x__) /* whose mmap takes its arguments in memory */
  long arguments[] = {a, b, c, d, e, f};
  long result = n == SYS_mmap ? syscall(n, arguments) : syscall(n, a, b, c, d, e, f);
#else
  long result = syscall(n, a, b, c, d, e, f);
#endif
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}
#endif

/* Whether that is an errno. */
LM_INLINE bool lm_is_error(long result) { return (unsigned long)result > (unsigned long)-4096; }

#if defined(SYS_mmap2)
#define LM_SYS_MMAP SYS_mmap2
#else
#define LM_SYS_MMAP SYS_mmap
#endif

#if defined(SYS_futex)
#define LM_SYS_FUTEX SYS_futex
typedef long lm_futex_time; /* seconds, and another for nanoseconds */
#else
#define LM_SYS_FUTEX SYS_futex_time64
typedef int64_t lm_futex_time;
#endif

/* The one whose seconds are a long. musl's name for it on 32 bit comes first. */
#if defined(SYS_clock_gettime32)
#define LM_SYS_CLOCK_GETTIME SYS_clock_gettime32
#else
#define LM_SYS_CLOCK_GETTIME SYS_clock_gettime
#endif

#endif
