# A debugger calls malloc, realloc and free in a program that it has stopped, as print does for text.
cat > stopped.c <<'C'
#include <stdlib.h>
#include <string.h>
char *volatile kept;
void stop_here(void) { __asm__ volatile(""); }
int main(void) {
  kept = malloc(100);
  strcpy(kept, "of the program");
  stop_here();
  kept = realloc(kept, 100000);
  int status = strcmp(kept, "of the debugger");
  free(kept);
  return status != 0;
}
C
cc -g -O0 stopped.c -o stopped
text='*(char (*)[16])'
gdb -q -batch -nx -ex 'break stop_here' -ex run -ex 'set $block = (char *)malloc(50)' \
  -ex "set var $text\$block = \"of the debugger\"" -ex 'set $block = (char *)realloc($block, 3000)' \
  -ex "print $text\$block" -ex "set var ${text}kept = $text\$block" -ex 'call (void)free($block)' \
  -ex 'print sizeof("text that gdb puts into the program")' -ex continue ./stopped 2> gdb.log |
  grep -E '^\$|exited' | sed 's/process [0-9]*/process/'
