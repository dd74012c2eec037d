/* Who has called: the return addresses on the calling thread's stack. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <ucontext.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/frames_linux.h"
#include "os/lock.h"
#include "os/os.h"

struct lm_lock lm_unwind_lock = LM_LOCK_INIT(LM_RANK_UNWIND);

/* ---- Rows found before, for all threads ---- */

/* A row in one word; and that XOR the place that it is for, so that a reader who finds the halves
 * of two entries sees that they do not belong together. Any thread writes and reads both. */
struct remembered {
  _Atomic(uint64_t) row, mixed;
};
#define REMEMBERED_BITS 12
static struct remembered remembered[1 << REMEMBERED_BITS];

static uint64_t row_to_word(const struct lm_frame_row *row) {
  return (uint64_t)(uint32_t)(row->end_offset * 8 + row->kind) << 32 |
         (uint64_t)(uint16_t)row->return_offset << 16 | (uint16_t)row->pointer_offset;
}

static struct lm_frame_row word_to_row(uint64_t word) {
  uint32_t end = (uint32_t)(word >> 32);
  return (struct lm_frame_row){(int32_t)end >> 3, (int16_t)(uint16_t)(word >> 16),
                               (int16_t)(uint16_t)word, end & 7};
}

static struct lm_frame_row row_at(uintptr_t pc) {
  struct remembered *entry = &remembered[lm_hash(pc, REMEMBERED_BITS)];
  uint64_t word = lm_load_relaxed(&entry->row);
  if (LM_LIKELY((word ^ lm_load_relaxed(&entry->mixed)) == pc)) return word_to_row(word);
  lm_lock_take(&lm_unwind_lock);
  struct lm_frame_row row = lm_frames_find(pc);
  lm_lock_free(&lm_unwind_lock);
  word = row_to_word(&row);
  lm_store_relaxed(&entry->row, word);
  lm_store_relaxed(&entry->mixed, word ^ pc);
  return row;
}

/* ---- The stack ---- */

#define STACK_MAX_BYTES (8 * LM_MIB)
#define WORD_BYTES sizeof(uintptr_t)

struct walk {
  uintptr_t pc, stack, frame; /* of the function whose caller is looked for */
  uintptr_t link;             /* where calls leave the return address in a register: that, or 0 */
  uintptr_t lowest;           /* of the stack */
  uintptr_t page;             /* the last one found readable */
  uintptr_t last_offset;      /* of a word in a page */
};

static LM_NOINLINE bool find_page(struct walk *walk, uintptr_t address) {
  if (address - walk->lowest > STACK_MAX_BYTES) return false;
  uintptr_t page = address & ~(uintptr_t)(lm_os.page_bytes - 1);
  if (!lm_os_is_readable((const void *)page)) return false;
  walk->page = page;
  return true;
}

/* A word of the stack; false if there is none at that address. */
LM_INLINE bool read_word(struct walk *walk, uintptr_t address, uintptr_t *word) {
  if (LM_UNLIKELY(address % WORD_BYTES != 0)) return false;
  if (LM_UNLIKELY(address - walk->page > walk->last_offset) && !find_page(walk, address))
    return false;
  *word = *(const uintptr_t *)address;
  return true;
}

/* Where the frame ends, by its row. */
static bool find_end(struct walk *walk, struct lm_frame_row *row, uintptr_t *end) {
  uintptr_t offset = (uintptr_t)(intptr_t)row->end_offset;
  switch (row->kind) {
  case LM_FRAME_STACK: *end = walk->stack + offset; return true;
  case LM_FRAME_POINTER: *end = walk->frame + offset; return true;
  case LM_FRAME_INDIRECT: return read_word(walk, walk->frame + offset, end);
  case LM_FRAME_UNKNOWN: /* as a frame pointer has it, if it is one */
    *row = (struct lm_frame_row){2 * WORD_BYTES, -(int16_t)WORD_BYTES, -2 * (int16_t)WORD_BYTES,
                                 LM_FRAME_POINTER};
    *end = walk->frame + 2 * WORD_BYTES;
    return walk->frame >= walk->stack;
  default: return false;
  }
}

/* Above the bits that an address has there may be a signature of it. */
static uintptr_t without_signature(uintptr_t address) {
#if defined(__aarch64__)
  return address & (((uintptr_t)1 << 48) - 1);
#else
  return address;
#endif
}

/* On to the caller. `place` is an instruction of the function: the one that calls. */
static bool step_out(struct walk *walk, uintptr_t place) {
  struct lm_frame_row row = row_at(place);
  uintptr_t end, from, pc = walk->link, frame = walk->frame;
  if (!find_end(walk, &row, &end)) return false;
  /* A frame has a size, but for one that has nothing on the stack as yet. */
  if (end < walk->stack || (end == walk->stack && walk->link == 0)) return false;
  from = row.kind == LM_FRAME_INDIRECT ? walk->frame : end;
  if (row.return_offset != LM_FRAME_SAME &&
      !read_word(walk, end + (uintptr_t)(intptr_t)row.return_offset, &pc))
    return false;
  if (row.pointer_offset != LM_FRAME_SAME &&
      !read_word(walk, from + (uintptr_t)(intptr_t)row.pointer_offset, &frame))
    return false;
  walk->pc = without_signature(pc);
  walk->stack = end;
  walk->frame = frame;
  walk->link = 0;
  return walk->pc > 1;
}

/* On from one function's frame, of which `place` is an instruction. */
static size_t follow(struct walk *walk, uintptr_t place, uintptr_t *callers, size_t count) {
  size_t found = 0;
  walk->lowest = walk->stack;
  walk->last_offset = lm_os.page_bytes - WORD_BYTES;
  for (; found < count && step_out(walk, place); place = walk->pc - 1) callers[found++] = walk->pc;
  return found;
}

size_t lm_os_unwind_interrupted(const void *context, uintptr_t *callers, size_t count) {
  const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
  struct walk walk = {.link = 0};
#if defined(__x86_64__)
  walk.pc = (uintptr_t)machine->gregs[REG_RIP];
  walk.stack = (uintptr_t)machine->gregs[REG_RSP];
  walk.frame = (uintptr_t)machine->gregs[REG_RBP];
#elif defined(__i386__)
  walk.pc = (uintptr_t)machine->gregs[REG_EIP];
  walk.stack = (uintptr_t)machine->gregs[REG_ESP];
  walk.frame = (uintptr_t)machine->gregs[REG_EBP];
#elif defined(__aarch64__)
  walk.pc = machine->pc;
  walk.stack = machine->sp;
  walk.frame = machine->regs[29];
  walk.link = machine->regs[30];
#else
  (void)machine;
#endif
  if (count == 0 || walk.pc == 0) return 0;
  callers[0] = walk.pc;
  return 1 + follow(&walk, walk.pc, callers + 1, count - 1);
}

LM_NOINLINE size_t lm_os_unwind(uintptr_t *callers, size_t count) {
  struct walk walk = {.link = 0};
#if defined(__x86_64__)
  __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                   : "=&r"(walk.pc), "=&r"(walk.stack), "=r"(walk.frame));
#elif defined(__aarch64__)
  __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                   : "=&r"(walk.pc), "=&r"(walk.stack), "=&r"(walk.frame), "=r"(walk.link));
#else
  walk.frame = walk.stack = (uintptr_t)__builtin_frame_address(0);
  walk.pc = (uintptr_t)LM_CALLER();
#endif
  walk.page = walk.stack & ~(uintptr_t)(lm_os.page_bytes - 1); /* this call's */
  return follow(&walk, walk.pc, callers, count);
}
