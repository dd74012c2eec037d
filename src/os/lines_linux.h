/* Text files of the system's, line by line, without the C library. */
#ifndef LM_OS_LINES_LINUX_H
#define LM_OS_LINES_LINUX_H

#include <fcntl.h>

#include "os/syscall_linux.h"

struct lm_lines {
  long fd;
  char buffer[1024];
  size_t start, end;
};

/* False if the file cannot be opened; else lm_lines_end closes it. */
LM_INLINE bool lm_lines_begin(struct lm_lines *lines, const char *path) {
  lines->start = lines->end = 0;
  lines->fd = lm_syscall6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  return lines->fd >= 0;
}

/* The next line without its newline; false at the end. A line that does not fit is cut. */
static inline bool lm_lines_read(struct lm_lines *lines, char *line, size_t capacity) {
  size_t length = 0;
  for (;;) {
    if (lines->start == lines->end) {
      long count = lm_syscall6(SYS_read, lines->fd, (long)lines->buffer, sizeof lines->buffer, 0,
                               0, 0);
      if (count <= 0 && length == 0) return false;
      if (count <= 0) break;
      lines->start = 0;
      lines->end = (size_t)count;
    }
    char c = lines->buffer[lines->start++];
    if (c == '\n') break;
    if (length + 1 < capacity) line[length++] = c;
  }
  line[length] = 0;
  return true;
}

LM_INLINE void lm_lines_end(const struct lm_lines *lines) {
  lm_syscall6(SYS_close, lines->fd, 0, 0, 0, 0, 0);
}

#endif
