/* What objects of Python's say: texts, and which line an instruction is of. */
#ifndef LM_PROFILE_PYTHON_CODE_H
#define LM_PROFILE_PYTHON_CODE_H

#include "profile/python_find.h"

/* Memory is read with a look whether it can be, or without. */
struct lm_python_reader {
  const struct lm_python *python;
  bool trusts;
};
bool lm_python_read(const struct lm_python_reader *reader, uintptr_t from, void *to,
                    size_t bytes);

/* In UTF-8, the end of it if it is longer than `capacity`. False if the object is no text. */
bool lm_python_read_text(const struct lm_python_reader *reader, uintptr_t object, char *text,
                         size_t capacity, size_t *bytes);

/* The line of the instruction that is so many bytes behind the first one, by that table, which is
 * an object, and the line that the code begins with. False if there is no such table. */
bool lm_python_find_line(const struct lm_python_reader *reader, uintptr_t table,
                         int64_t offset, uint32_t first_line, uint32_t *line);

#endif
