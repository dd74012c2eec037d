// builds: fast checking hardened linked
// preload-before: asks_for_next
/* libfaketime, libvglfaker and MangoHud ask dlsym for the next function of a name, which depends on
 * who asks: whoever defines dlsym in front of the C library must not be taken for them. */
#include "names.h"

#include <dlfcn.h>

int main(void) {
  int *count = (int *)dlsym(RTLD_DEFAULT, "counted_texts");
  CHECK(count != NULL);
  for (int i = 0; i < 10; i++) free(opaque(strdup("text")));
  CHECK(*count == 10);
  return 0;
}
