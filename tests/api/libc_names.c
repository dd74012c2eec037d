// builds: fast checking linked
/* The C library's own names for its allocator, which some libraries call, are loam's as well, and
 * so is each name of the family: a name that is left out mixes two heaps. */
#include "names.h"
#include <dlfcn.h>

static const char *const names[] = {
    "malloc", "free", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign",
    "memalign", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim", "malloc_stats",
    "malloc_info", "mallinfo", "mallinfo2", "mallopt",
    "__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc", "__libc_memalign",
    "__libc_valloc", "__libc_pvalloc"};
static const char *const newer_names[] = {"free_sized", "free_aligned_sized"};

static const char *module_of(const char *name) {
  Dl_info info;
  void *address = dlsym(RTLD_DEFAULT, name);
  if (address == NULL || dladdr(address, &info) == 0) {
    fprintf(stderr, "no %s\n", name);
    _exit(1);
  }
  return info.dli_fname;
}

int main(void) {
  /* Linked into the program, only the names that its libraries use are in its symbol table. */
  int linked = strcmp(test_build(), "linked") == 0;
  size_t count = linked ? 4 : sizeof names / sizeof *names;
  const char *expected = module_of("malloc");
  int failures = 0;
  for (size_t i = 0; i < count; i++) {
    const char *actual = module_of(names[i]);
    if (strcmp(actual, expected) != 0) {
      fprintf(stderr, "%s is in %s, malloc in %s\n", names[i], actual, expected);
      failures++;
    }
  }
  for (size_t i = 0; !linked && i < sizeof newer_names / sizeof *newer_names; i++)
    CHECK(strcmp(module_of(newer_names[i]), expected) == 0);
  CHECK(strstr(expected, "libc.so") == NULL);
  return failures != 0;
}
