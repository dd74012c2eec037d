/* Atomics with the memory order in the name. Each use says what it pairs with. */
#ifndef LM_BASE_ATOMIC_H
#define LM_BASE_ATOMIC_H

#include <stdatomic.h>

#include "base/compiler.h"

/* A test that counts shared lines defines this before it includes the allocator. */
#if !defined(LM_ON_ATOMIC)
#define LM_ON_ATOMIC(address, kind) ((void)0)
#endif
enum lm_atomic_kind { LM_ATOMIC_LOAD, LM_ATOMIC_STORE, LM_ATOMIC_MODIFY };

#define LM_LOAD(p, order) (LM_ON_ATOMIC(p, LM_ATOMIC_LOAD), atomic_load_explicit(p, order))
#define LM_STORE(p, v, order) (LM_ON_ATOMIC(p, LM_ATOMIC_STORE), atomic_store_explicit(p, v, order))
#define LM_MODIFY(operation, p, v, order) \
  (LM_ON_ATOMIC(p, LM_ATOMIC_MODIFY), atomic_##operation##_explicit(p, v, order))

#define lm_load_relaxed(p) LM_LOAD((p), memory_order_relaxed)
/* The same, where the processor has such loads anyway and the compiler should make this one part of
 * another instruction: of a word of 32 bits that is read once. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1 /* as GCC says it */
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define lm_load_word(p) lm_load_relaxed(p)
#else
#define lm_load_word(p) (*(const uint32_t *)(p))
#endif
#define lm_load_acquire(p) LM_LOAD((p), memory_order_acquire)
#define lm_store_relaxed(p, v) LM_STORE((p), (v), memory_order_relaxed)
#define lm_store_release(p, v) LM_STORE((p), (v), memory_order_release)
#define lm_exchange_acquire(p, v) LM_MODIFY(exchange, (p), (v), memory_order_acquire)
#define lm_exchange_release(p, v) LM_MODIFY(exchange, (p), (v), memory_order_release)
#define lm_exchange_acq_rel(p, v) LM_MODIFY(exchange, (p), (v), memory_order_acq_rel)
#define lm_add_relaxed(p, v) LM_MODIFY(fetch_add, (p), (v), memory_order_relaxed)
#define lm_sub_relaxed(p, v) LM_MODIFY(fetch_sub, (p), (v), memory_order_relaxed)
#define lm_or_acquire(p, v) LM_MODIFY(fetch_or, (p), (v), memory_order_acquire)
#define lm_or_relaxed(p, v) LM_MODIFY(fetch_or, (p), (v), memory_order_relaxed)
#define lm_or_release(p, v) LM_MODIFY(fetch_or, (p), (v), memory_order_release)
#define lm_and_release(p, v) LM_MODIFY(fetch_and, (p), (v), memory_order_release)
#define lm_and_relaxed(p, v) LM_MODIFY(fetch_and, (p), (v), memory_order_relaxed)
/* On failure `*expected` is the value seen, read with the order of the failing load. */
#define lm_cas_weak_release(p, expected, v)   \
  (LM_ON_ATOMIC(p, LM_ATOMIC_MODIFY),         \
   atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_release, \
                                         memory_order_acquire))
#define lm_cas_release(p, expected, v)        \
  (LM_ON_ATOMIC(p, LM_ATOMIC_MODIFY),         \
   atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_release, \
                                           memory_order_relaxed))
#define lm_cas_acquire(p, expected, v)        \
  (LM_ON_ATOMIC(p, LM_ATOMIC_MODIFY),         \
   atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, \
                                           memory_order_relaxed))

LM_INLINE void lm_cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ volatile("yield");
#endif
}

#endif
