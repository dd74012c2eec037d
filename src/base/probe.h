/* Places in the code that tracers know: each is a no-operation, and a note that says where that is,
 * what it is called, and in which registers its arguments are, as SystemTap's notes have it (USDT).
 * A tracer that wants to be told puts a breakpoint there; nobody else pays more than the
 * no-operation. */
#ifndef LM_BASE_PROBE_H
#define LM_BASE_PROBE_H

#include "base/compiler.h"

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)

/* The note is not loaded: what it says of addresses is resolved when the file is linked. It also
 * names a byte that is, by which tracers see whether the file has been moved since. */
#define LM_PROBE_NOTE(provider, name, arguments)                                              \
  "990: nop\n"                                                                                \
  ".pushsection .note.stapsdt,\"\",%%note\n"                                                  \
  ".balign 4\n"                                                                               \
  ".4byte 992f - 991f, 994f - 993f, 3\n"                                                      \
  "991: .asciz \"stapsdt\"\n"                                                                 \
  "992: .balign 4\n"                                                                          \
  "993: .8byte 990b\n"                                                                        \
  ".8byte _.stapsdt.base\n"                                                                   \
  ".8byte 0\n" /* no counter of who traces */                                                 \
  ".asciz \"" provider "\"\n"                                                                 \
  ".asciz \"" name "\"\n"                                                                     \
  ".asciz \"" arguments "\"\n"                                                                \
  "994: .balign 4\n"                                                                          \
  ".popsection\n"                                                                             \
  ".ifndef _.stapsdt.base\n"                                                                  \
  ".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n"                       \
  ".weak _.stapsdt.base\n"                                                                    \
  ".hidden _.stapsdt.base\n"                                                                  \
  "_.stapsdt.base: .space 1\n"                                                                \
  ".size _.stapsdt.base, 1\n"                                                                 \
  ".popsection\n"                                                                             \
  ".endif\n"

/* Unsigned arguments of eight bytes each. */
#define LM_PROBE_1(provider, name, a) \
  __asm__ volatile(LM_PROBE_NOTE(provider, name, "8@%0") : : "r"((uint64_t)(a)))
#define LM_PROBE_3(provider, name, a, b, c)                             \
  __asm__ volatile(LM_PROBE_NOTE(provider, name, "8@%0 8@%1 8@%2")      \
                   : : "r"((uint64_t)(a)), "r"((uint64_t)(b)), "r"((uint64_t)(c)))

#else

#define LM_PROBE_1(provider, name, a) ((void)(a))
#define LM_PROBE_3(provider, name, a, b, c) ((void)(a), (void)(b), (void)(c))

#endif

#endif
