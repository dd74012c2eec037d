#include "redirect/options_windows.h"

#include "base/format.h"
#include "os/os.h"

#include <windows.h>

struct lm_redirect_options lm_redirect_options;

static void obey(const char *word, size_t length) {
  const struct {
    const char *word;
    bool *option;
  } known[] = {
      {"anyway", &lm_redirect_options.anyway},
      {"tables", &lm_redirect_options.tables},
      {"children", &lm_redirect_options.children},
      {"verify", &lm_redirect_options.verify},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!lm_string_equal(word, length, known[i].word)) continue;
    *known[i].option = true;
    return;
  }
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: LOAM_REDIRECT: ");
  lm_text_span(&text, word, length);
  lm_text_string(&text, " is none of anyway, children, tables, verify\n");
  lm_os_write(2, text.bytes, text.length);
}

void lm_redirect_options_read(void) {
  char value[256];
  DWORD length = GetEnvironmentVariableA("LOAM_REDIRECT", value, sizeof value);
  if (length == 0 || length >= sizeof value) return;
  for (const char *word = value; *word != 0;) {
    size_t bytes = 0;
    while (word[bytes] != 0 && word[bytes] != ',') bytes++;
    const char *trimmed = word;
    size_t rest = bytes;
    lm_string_trim(&trimmed, &rest);
    if (rest > 0) obey(trimmed, rest);
    word += bytes + (word[bytes] == ',');
  }
}
