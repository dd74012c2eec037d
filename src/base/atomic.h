/* Atomics with the memory order in the name. Each use says what it pairs with. */
#ifndef LM_BASE_ATOMIC_H
#define LM_BASE_ATOMIC_H

#include <stdatomic.h>

#include "base/compiler.h"

#define lm_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define lm_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define lm_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define lm_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define lm_exchange_acquire(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)
#define lm_exchange_release(p, v) atomic_exchange_explicit((p), (v), memory_order_release)
#define lm_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define lm_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define lm_sub_relaxed(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define lm_or_relaxed(p, v) atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define lm_and_relaxed(p, v) atomic_fetch_and_explicit((p), (v), memory_order_relaxed)
/* On failure `*expected` is the value seen, read with the order of the failing load. */
#define lm_cas_weak_release(p, expected, v) \
  atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_release, \
                                        memory_order_acquire)
#define lm_cas_acquire(p, expected, v) \
  atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, \
                                          memory_order_relaxed)

LM_INLINE void lm_cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ volatile("yield");
#endif
}

#endif
