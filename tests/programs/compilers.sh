# gcc and clang give the same object, byte for byte, for a large generated C file.
awk 'BEGIN {
  print "#include <stdio.h>\n#include <string.h>\n#include <stdlib.h>"
  for (i = 0; i < 50; i++) {
    printf "struct s%d { int a[%d]; char *name; struct s%d *next; };\n", i, i % 9 + 1, i
    printf "int f%d(struct s%d *s, int n) {\n  int r = n;\n", i, i
    printf "  for (int i = 0; i < %d; i++) { r += s->a[i] * %d; ", \
      i % 9 + 1, i + 3
    print "if (r % 7 == 3) r ^= i << 3; }"
    printf "  switch (n) { case 1: return r; case 2: return r * 2; "
    printf "case %d: puts(s->name); }\n", i + 5
    printf "  return s->next ? r + f%d(s->next, n - 1) : r;\n}\n", i
  }
}' > large.c
for compiler in gcc clang; do
  for level in -O0 -O2; do
    $compiler $level -g -fdebug-prefix-map="$PWD"=. -c large.c -o large.o
    echo "$compiler $level $(sha256sum < large.o)"
  done
done
