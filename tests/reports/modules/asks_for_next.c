/* A library that stands before the C library with a function of that, and asks for the next one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int counted_texts;
static int depth;

char *strdup(const char *text);
char *strdup(const char *text) {
  char *(*next)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, "strdup");
  if (next == NULL || depth++ != 0) abort(); /* this very function is the next one */
  counted_texts++;
  char *copy = next(text);
  depth--;
  return copy;
}
