/* Who has called: the return addresses on the calling thread's stack. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <string.h>
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
#if !defined(LM_REMEMBERED_ROWS_BITS)
#define LM_REMEMBERED_ROWS_BITS 12
#endif
static struct remembered remembered[1 << LM_REMEMBERED_ROWS_BITS];

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
  struct remembered *entry = &remembered[lm_hash(pc, LM_REMEMBERED_ROWS_BITS)];
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
  bool went_by_frame;         /* in the last step */
  bool has_ended;             /* there is no further one */
};

#if defined(LM_REMEMBERS_STACKS)
/* Pages of the thread's stack that were found readable. */
static LM_THREAD_LOCAL uintptr_t known_from, known_to;

static bool is_stack_page(uintptr_t page) {
  if (page >= known_from && page < known_to) return true;
  if (!lm_os_is_readable((const void *)page)) return false;
  if (page != known_to) known_from = page;
  known_to = page + lm_os.page_bytes;
  return true;
}
#else
static bool is_stack_page(uintptr_t page) { return lm_os_is_readable((const void *)page); }
#endif

static LM_NOINLINE bool find_page(struct walk *walk, uintptr_t address) {
  if (address - walk->lowest > STACK_MAX_BYTES) return false;
  uintptr_t page = address & ~(uintptr_t)(lm_os.page_bytes - 1);
  if (!is_stack_page(page)) return false;
  walk->page = page;
  return true;
}

/* Whether a word can be read there. */
LM_INLINE bool is_on_stack(struct walk *walk, uintptr_t address) {
  return LM_LIKELY(address - walk->page <= walk->last_offset) || find_page(walk, address);
}

/* A word of the stack; false if there is none at that address. */
LM_INLINE bool read_word(struct walk *walk, uintptr_t address, uintptr_t *word) {
  if (LM_UNLIKELY(address % WORD_BYTES != 0) || !is_on_stack(walk, address)) return false;
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
static bool step_out(struct walk *walk, uintptr_t place, struct lm_stack_step *step) {
  struct lm_frame_row row = row_at(place);
  uintptr_t end, from, pc = walk->link, frame = walk->frame;
  if (!find_end(walk, &row, &end)) {
    walk->has_ended = row.kind == LM_FRAME_LAST;
    return false;
  }
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
  walk->went_by_frame = row.kind != LM_FRAME_STACK;
  bool by_stack = row.kind != LM_FRAME_INDIRECT;
  *step = (struct lm_stack_step){walk->pc, end, frame, by_stack ? row.return_offset : LM_FRAME_SAME,
                                 row.pointer_offset, false};
  return walk->pc > 1;
}

/* Where the calling function itself is. */
LM_INLINE void begin_walk(struct walk *walk) {
#if defined(__x86_64__)
  __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                   : "=&r"(walk->pc), "=&r"(walk->stack), "=r"(walk->frame));
#elif defined(__aarch64__)
  __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                   : "=&r"(walk->pc), "=&r"(walk->stack), "=&r"(walk->frame), "=r"(walk->link));
#else
  walk->frame = walk->stack = (uintptr_t)__builtin_frame_address(0);
  walk->pc = (uintptr_t)LM_CALLER();
#endif
  walk->lowest = walk->stack;
  walk->page = walk->stack & ~(uintptr_t)(lm_os.page_bytes - 1); /* this call's */
  walk->last_offset = lm_os.page_bytes - WORD_BYTES;
}

/* On from one function's frame, of which `place` is an instruction. */
static size_t follow(struct walk *walk, uintptr_t place, uintptr_t *callers, size_t count) {
  size_t found = 0;
  struct lm_stack_step step;
  for (; found < count && step_out(walk, place, &step); place = walk->pc - 1)
    callers[found++] = walk->pc;
  return found;
}

size_t lm_os_unwind_interrupted(const void *context, uintptr_t *callers, size_t count) {
  const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
  struct walk walk = {.link = 0, .last_offset = lm_os.page_bytes - WORD_BYTES};
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
  walk.lowest = walk.stack;
  if (count == 0 || walk.pc == 0) return 0;
  callers[0] = walk.pc;
  return 1 + follow(&walk, walk.pc, callers + 1, count - 1);
}

LM_NOINLINE size_t lm_os_unwind(uintptr_t *callers, size_t count) {
  struct walk walk = {.link = 0};
  begin_walk(&walk);
  return follow(&walk, walk.pc, callers, count);
}

/* ---- What the thread's last walk has found ---- */

/* A further step goes by the frame pointer that steps[index] has found. */
static void note_frame_used(struct lm_stack_step *steps, size_t index, uintptr_t frame) {
  for (;; index--) {
    steps[index].frame = frame;
    steps[index].frame_used = true;
    if (index == 0 || steps[index].frame_offset != LM_FRAME_SAME) return;
  }
}

/* Whether the registers are what they were at a step of the last walk, and at which one. Frames are
 * in the order of their addresses: those before `*index` are below. */
LM_INLINE bool find_again(const struct walk *walk, const struct lm_walked_stack *last,
                          size_t *index) {
  while (*index < last->count && last->steps[*index].stack < walk->stack) ++*index;
  if (*index == last->count) return false;
  const struct lm_stack_step *step = &last->steps[*index];
  return step->stack == walk->stack && step->pc == walk->pc &&
         (!step->frame_used || step->frame == walk->frame);
}

LM_INLINE uintptr_t frame_place(const struct lm_stack_step *step) {
  return step->stack + (uintptr_t)(intptr_t)step->frame_offset;
}

/* Whether all that was read for the step is there again. */
LM_INLINE bool can_repeat(struct walk *walk, const struct lm_stack_step *step) {
  uintptr_t place = step->stack + (uintptr_t)(intptr_t)step->return_offset;
  if (step->return_offset == LM_FRAME_SAME || !is_on_stack(walk, place)) return false;
  if (without_signature(*(const uintptr_t *)place) != step->pc) return false;
  if (LM_LIKELY(!step->frame_used) || step->frame_offset == LM_FRAME_SAME) return true;
  place = frame_place(step);
  return is_on_stack(walk, place) && *(const uintptr_t *)place == step->frame;
}

/* Makes steps that the last walk has made, from `then` on, as long as they are the same, without
 * their rows. Returns how many. */
static size_t walk_again(struct walk *walk, const struct lm_stack_step *then, size_t count) {
  size_t i = 0, found = 0; /* found: the frame pointer, by the step before */
  for (; i < count && can_repeat(walk, &then[i]); i++)
    if (then[i].frame_offset != LM_FRAME_SAME) found = i + 1;
  if (found != 0 && !read_word(walk, frame_place(&then[found - 1]), &walk->frame)) return 0;
  if (i == 0) return 0;
  walk->pc = then[i - 1].pc;
  walk->stack = then[i - 1].stack;
  return i;
}

/* Makes the steps of the last walk that can be made again; `*index` is one that it may go on with.
 * Returns how many there are. */
LM_INLINE size_t repeat(struct walk *walk, const struct lm_walked_stack *last, size_t *index,
                        struct lm_walked_stack *stack) {
  if (!find_again(walk, last, index)) return 0;
  if (last->steps[*index].frame_used) note_frame_used(stack->steps, stack->count - 1, walk->frame);
  const struct lm_stack_step *then = &last->steps[++*index];
  size_t most = lm_min(last->count - *index, LM_UNWIND_DEPTH + 1 - stack->count);
  size_t count = walk_again(walk, then, most);
  memcpy(&stack->steps[stack->count], then, count * sizeof *then);
  *index += count;
  stack->count += count;
  walk->has_ended = *index == last->count && last->whole;
  return count;
}

/* Fills the rest of `stack`, which begins as the walk does. True if it is the last one again. */
static bool walk_up(struct walk *walk, const struct lm_walked_stack *last,
                    struct lm_walked_stack *stack) {
  size_t index = 0, count = 1 + repeat(walk, last, &index, stack);
  while (!walk->has_ended && stack->count <= LM_UNWIND_DEPTH) {
    uintptr_t place = stack->count == 1 ? walk->pc : walk->pc - 1, frame = walk->frame;
    if (!step_out(walk, place, &stack->steps[stack->count])) break;
    if (walk->went_by_frame) note_frame_used(stack->steps, stack->count - 1, frame);
    stack->count++;
    repeat(walk, last, &index, stack);
  }
  stack->whole = walk->has_ended;
  return count == last->count && count == stack->count;
}

LM_NOINLINE bool lm_os_unwind_again(struct lm_walked_stacks *walked) {
  const struct lm_walked_stack *last = &walked->stacks[walked->newest];
  struct lm_walked_stack *stack = &walked->stacks[1 - walked->newest];
  struct walk walk = {.link = 0};
  begin_walk(&walk);
  stack->steps[0] = (struct lm_stack_step){walk.pc,       walk.stack,    walk.frame,
                                           LM_FRAME_SAME, LM_FRAME_SAME, false};
  stack->count = 1;
  walked->newest = 1 - walked->newest;
  return walk_up(&walk, last, stack);
}

size_t lm_os_walked(const struct lm_walked_stacks *walked, uintptr_t *callers) {
  const struct lm_walked_stack *stack = &walked->stacks[walked->newest];
  for (size_t i = 1; i < stack->count; i++) callers[i - 1] = stack->steps[i].pc;
  return stack->count - 1;
}
