/* What the system says of its files and settings, to the files of this folder. */
#ifndef LM_OS_FILES_LINUX_H
#define LM_OS_FILES_LINUX_H

#include "base/compiler.h"

/* The first character of a setting of the kernel's, or 0. */
char lm_read_setting(const char *path);

/* The kernel's struct statx, which not all C libraries have: the words that are read. */
struct lm_file_status {
  uint32_t unread[4];
  uint32_t link_count;
  uint32_t unread_too[3];
  uint64_t file;
  uint32_t unread_either[24];
  uint32_t device_major, device_minor;
  uint32_t unread_at_last[28];
};

/* Of a path, or if that is empty of `fd`. ENOSYS on kernels before 4.11. */
int lm_read_status(int fd, const char *path, struct lm_file_status *status);

#endif
