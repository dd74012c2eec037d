/* What objects of Python's say: texts, and which line an instruction is of. */
#ifndef LM_PROFILE_PYTHON_CODE_H
#define LM_PROFILE_PYTHON_CODE_H

#include "os/os.h"
#include "profile/python_find.h"

/* Memory is read with a look whether it can be, or without. */
struct lm_python_reader {
  const struct lm_python *python;
  bool trusts;
};

#if LM_READS_PYTHON
/* So many bytes that are at the address, there or in `buffer`; NULL if they cannot be read. */
LM_INLINE const void *lm_python_view(const struct lm_python_reader *reader, uintptr_t address,
                                     void *buffer, size_t bytes) {
  const void *there = (const void *)address;
  if (address == 0) return NULL;
  if (LM_LIKELY(reader->trusts)) return there;
  return lm_os_read_memory(there, buffer, bytes) == bytes ? buffer : NULL;
}
#endif

/* In UTF-8, where it is or in `buffer`; the end of it if it is longer than `capacity`. NULL if the
 * object is no text. */
const char *lm_python_view_text(const struct lm_python_reader *reader, uintptr_t object,
                                char *buffer, size_t capacity, size_t *bytes);

/* The line of the instruction that is so many bytes behind the first one, by that table, which is
 * an object, and the line that the code begins with. False if there is no such table. */
bool lm_python_find_line(const struct lm_python_reader *reader, uintptr_t table,
                         int64_t offset, uint32_t first_line, uint32_t *line);

#endif
