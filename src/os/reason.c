#include "os/reason.h"

#include <errno.h>

#include "os/os.h"

static const char *reason_of(int error) {
  switch (error) {
  case ENOENT: return "no such file or directory";
  case ENOTDIR: return "not a directory";
  case EISDIR: return "is a directory";
  case EACCES: return "permission denied";
  case EPERM: return "operation not permitted";
  case EROFS: return "read-only file system";
  case ENOSPC: return "no space left on device";
  case EFBIG: return "file too large";
  case EIO: return "input/output error";
  case EMFILE: return "too many open files";
  case ENFILE: return "too many open files in system";
  case ENAMETOOLONG: return "file name too long";
#if defined(EDQUOT)
  case EDQUOT: return "disk quota exceeded";
#endif
#if defined(ELOOP)
  case ELOOP: return "too many levels of symbolic links";
#endif
  default: return NULL;
  }
}

void lm_text_reason(struct lm_text *text, int error) {
  const char *reason = reason_of(error);
  lm_text_string(text, reason != NULL ? reason : "error ");
  if (reason == NULL) lm_text_number(text, (uint64_t)error);
}

void lm_complain_unwritten(const char *what, int error) {
  LM_TEXT(text, 4096);
  lm_text_string(&text, "loam: cannot write ");
  lm_text_string(&text, what);
  lm_text_string(&text, ": ");
  lm_text_reason(&text, error);
  lm_text_string(&text, "\n");
  lm_os_write(2, text.bytes, text.length);
}
