/* The lines of Python that a thread is at: functions of a program that are data to the processor,
 * so that the stack has only those of the interpreter. */
#ifndef LM_PROFILE_PYTHON_H
#define LM_PROFILE_PYTHON_H

#include "base/atomic.h"
#include "base/compiler.h"

#define LM_PYTHON_LINES_MAX 65536
#define LM_PYTHON_DEPTH 64
#define LM_PYTHON_FUNCTION_MAX_BYTES 255
#define LM_PYTHON_FILE_MAX_BYTES 767

/* A line that a sample was taken at. It stays for good: the code object may not. Written under
 * lm_profile_lock, and by nobody once it is in a list. */
struct lm_python_line {
  struct lm_python_line *next;      /* in its bucket */
  struct lm_python_line *next_made; /* of all, the newest first */
  uint32_t number;                  /* from 1 on */
  uint32_t line, function_line;     /* in the file; the one that the function begins with */
  uint32_t function_bytes, file_bytes;
  char texts[]; /* the function's name and the file's, in UTF-8 */
};
extern _Atomic(struct lm_python_line *) lm_python_lines; /* by next_made */

/* Among the callers of a site a word with the highest bit, which no address of code has, is the
 * number of a line. With the next bit it is the outermost one of a call of the evaluator. */
#define LM_PYTHON_MARK ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))
#define LM_PYTHON_ENTRY (LM_PYTHON_MARK >> 1)

/* Whether there is an interpreter to ask, as far as stacks have led. */
bool lm_python_is_here(void);

/* The lines of the calling thread, the innermost first: LM_PYTHON_DEPTH at most, and none if it is
 * not in Python. `callers` are the functions on its stack, `whole` if these are all. Allocates
 * nothing but records of lines. May call the program's malloc, and that this function. */
size_t lm_python_walk(const uintptr_t *callers, size_t depth, bool whole, uintptr_t *lines);

#endif
