/* How to get from a function's frame to its caller's: rows of .eh_frame, which every compiler
 * writes for exceptions, found through the modules' program headers. */
#ifndef LM_OS_FRAMES_LINUX_H
#define LM_OS_FRAMES_LINUX_H

#include "base/compiler.h"

/* Whether rows can be found for this processor; else frames are followed by frame pointers. */
#if defined(__x86_64__) || defined(__aarch64__)
#define LM_HAS_FRAME_ROWS 1
#else
#define LM_HAS_FRAME_ROWS 0
#endif

enum lm_frame_kind {
  LM_FRAME_UNKNOWN,  /* no row: there may be a frame pointer */
  LM_FRAME_LAST,     /* has no caller, or none that can be found */
  LM_FRAME_STACK,    /* the frame ends at the stack pointer + end_offset */
  LM_FRAME_POINTER,  /* at the frame pointer + end_offset */
  LM_FRAME_INDIRECT, /* at what stands at the frame pointer + end_offset */
};

#define LM_FRAME_SAME INT16_MIN /* the register is as the function found it */

struct lm_frame_row {
  int32_t end_offset;
  int16_t return_offset; /* of the return address, from the frame's end; or LM_FRAME_SAME */
  /* Of the caller's frame pointer, from the frame's end, or, if that is indirect, from the frame
   * pointer; or LM_FRAME_SAME. */
  int16_t pointer_offset;
  uint8_t kind; /* enum lm_frame_kind */
};

/* The row of an instruction. Reads no memory but such as can be read, and allocates none; slow. One
 * thread at a time. */
struct lm_frame_row lm_frames_find(uintptr_t pc);

#endif
