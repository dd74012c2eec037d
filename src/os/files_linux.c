/* Linux: files that are read or written to, and what they are. openat(2), statx(2), fcntl(2). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/files_linux.h"

#include <errno.h>
#include <fcntl.h>

#include "base/bits.h"
#include "os/os.h"
#include "os/syscall_linux.h"

char lm_read_setting(const char *path) {
  char first = 0;
  long fd = lm_syscall6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (lm_is_error(fd)) return 0;
  lm_syscall6(SYS_read, fd, (long)&first, 1, 0, 0, 0);
  lm_syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
  return first;
}

int lm_read_status(int fd, const char *path, struct lm_file_status *status) {
#if defined(SYS_statx)
  long mask = 0x104; /* STATX_INO, STATX_NLINK */
  return (int)-lm_syscall6(SYS_statx, fd, (long)path, AT_EMPTY_PATH, mask, (long)status, 0);
#else
  (void)fd, (void)path, (void)status;
  return ENOSYS;
#endif
}

/* ---- Output that stays open, as long as nobody closes it ---- */

/* High enough to be in nobody's way. */
#define KEPT_FD_MIN 500

/* Says which file is open as `fd`; EBADF if none is. */
static int identify(int fd, struct lm_os_output *output) {
  struct lm_file_status status;
  int error = lm_read_status(fd, "", &status);
  if (error != 0) return error;
  output->file = status.file;
  output->device = (uint64_t)status.device_major << 32 | status.device_minor;
  return 0;
}

struct lm_os_output lm_os_keep_open(int fd) {
  struct lm_os_output output = {-1, 0, 0};
  long kept = lm_syscall6(SYS_fcntl, fd, F_DUPFD_CLOEXEC, KEPT_FD_MIN, 0, 0, 0);
  bool identified = identify(fd, &output) == 0;
  if (!lm_is_error(kept)) output.fd = (int)kept;
  else if (identified) output.fd = fd;
  return output;
}

int lm_os_kept_fd(const struct lm_os_output *output) {
  struct lm_os_output present = {-1, 0, 0};
  int error = output->fd < 0 ? EBADF : identify(output->fd, &present);
  bool same = error == 0 && present.device == output->device && present.file == output->file;
  bool unknown = error != 0 && error != EBADF && output->device == 0 && output->file == 0;
  return same || unknown ? output->fd : -1;
}

int lm_os_open_to_append(const char *path) {
  return (int)lm_syscall6(SYS_openat, AT_FDCWD, (long)path,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666, 0, 0);
}

int lm_os_open_to_write(const char *path) {
  return (int)lm_syscall6(SYS_openat, AT_FDCWD, (long)path,
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666, 0, 0);
}

static int read_all(long fd, char *bytes, size_t capacity, size_t *length) {
  for (*length = 0; *length < capacity;) {
    long count = lm_syscall6(SYS_read, fd, (long)(bytes + *length), (long)(capacity - *length), 0,
                             0, 0);
    if (count == -EINTR) continue;
    if (lm_is_error(count)) return (int)-count;
    if (count == 0) break;
    *length += (size_t)count;
  }
  return 0;
}

int lm_os_read_file(const char *path, char *bytes, size_t capacity, size_t *length) {
  /* What is no file does not block either. */
  long fd = lm_syscall6(SYS_openat, AT_FDCWD, (long)path,
                        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
  if (lm_is_error(fd)) return (int)-fd;
  int error = read_all(fd, bytes, capacity, length);
  lm_os_close((int)fd);
  return error;
}

void lm_os_close(int fd) { lm_syscall6(SYS_close, fd, 0, 0, 0, 0, 0); }

int lm_os_write(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    long written = lm_syscall6(SYS_write, fd, (long)bytes, (long)length, 0, 0, 0);
    if (written == -EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : (int)-written;
    bytes += written;
    length -= (size_t)written;
  }
  return 0;
}
