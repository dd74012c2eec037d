/* The interpreter of Python that is in the process, if there is one that can be read: CPython 3.8
 * to 3.13, where words have 64 bits and the lower byte comes first. */
#ifndef LM_PROFILE_PYTHON_FIND_H
#define LM_PROFILE_PYTHON_FIND_H

#include "base/compiler.h"

#if defined(__linux__) && LM_BITS_64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LM_READS_PYTHON 1
#else
#define LM_READS_PYTHON 0
#endif

/* How a code object says which line an instruction is of. */
enum lm_python_table {
  LM_PYTHON_PAIRS,     /* co_lnotab: bytes of code, and lines from there on */
  LM_PYTHON_RANGES,    /* co_linetable of 3.10: bytes of code, and lines for these */
  LM_PYTHON_LOCATIONS, /* of 3.11 and later: entries of any length */
};

#define LM_PYTHON_NO_FIELD 0xffff /* there is no such field */

/* Offsets of fields in bytes, as the headers of that version have them. */
struct lm_python_layout {
  uint16_t thread_frame;     /* in the thread's state: the innermost frame */
  uint16_t thread_innermost; /* or there is what has it, here */
  uint16_t thread_id;
  uint16_t frame_bytes, frame_back, frame_code, frame_place;
  uint16_t frame_owner; /* 3: the evaluator's own, of no function */
  uint16_t frame_entry; /* not 0: the evaluator was called for it */
  uint16_t code_bytes, code_first_line, code_file, code_name, code_table;
  /* Where the instructions are in the code object, if the place is an address of one. */
  uint16_t code_start;
  uint8_t place_unit; /* else: how many bytes of code it counts in */
  uint8_t table;      /* enum lm_python_table */
  uint8_t text_bytes, wide_text_bytes; /* what characters stand behind: of ASCII, and of others */
};

struct lm_python {
  const struct lm_python_layout *layout;
  uintptr_t code_start, code_end; /* of the module that it is in */
  uintptr_t code_type, text_type, bytes_type;
  const void *(*this_thread)(void); /* the calling thread's state, or NULL */
  /* The state that runs Python just now: in earlier versions of any thread. */
  const void *(*current)(void);
  uint8_t remembered[16]; /* the first bytes of `this_thread` */
};

/* NULL if there is none. Slow where stacks have led into a new module. */
const struct lm_python *lm_python_find(void);
/* Whether it has not been unloaded: a system call. */
bool lm_python_is_there(const struct lm_python *python);

#endif
