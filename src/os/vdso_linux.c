/* The table of the vDSO's names is read where the kernel has put it, without a system call: it
 * vouches for that memory. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/vdso_linux.h"

#include <link.h>
#include <string.h>


/* Elsewhere by the system call: no processor that others call as C calls a function. */
#if defined(__x86_64__) || (defined(__riscv) && LM_BITS_64)
#define CLOCK_NAME "__vdso_clock_gettime"
#elif defined(__i386__) || defined(__arm__)
#define CLOCK_NAME "__vdso_clock_gettime64"
#elif defined(__aarch64__) || defined(__s390x__)
#define CLOCK_NAME "__kernel_clock_gettime"
#else
#define CLOCK_NAME NULL
#endif

struct vdso {
  uintptr_t bias; /* its addresses in memory less those in the file */
  const ElfW(Sym) *symbols;
  const char *names;
};

static void read_vdso_dynamic(const ElfW(Dyn) *entry, struct vdso *vdso) {
  for (; entry->d_tag != DT_NULL; entry++) {
    uintptr_t address = vdso->bias + (uintptr_t)entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) vdso->symbols = (const ElfW(Sym) *)address;
    if (entry->d_tag == DT_STRTAB) vdso->names = (const char *)address;
  }
}

static bool read_vdso(uintptr_t start, struct vdso *vdso) {
  const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)start;
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(start + file->e_phoff);
  const ElfW(Phdr) *dynamic = NULL;
  bool loaded = false;
  for (size_t i = 0; i < file->e_phnum; i++) {
    if (headers[i].p_type == PT_LOAD && !loaded) {
      vdso->bias = start + (uintptr_t)headers[i].p_offset - (uintptr_t)headers[i].p_vaddr;
      loaded = true;
    }
    if (headers[i].p_type == PT_DYNAMIC) dynamic = &headers[i];
  }
  if (!loaded || dynamic == NULL) return false;
  read_vdso_dynamic((const ElfW(Dyn) *)(start + (uintptr_t)dynamic->p_offset), vdso);
  return vdso->symbols != NULL && vdso->names != NULL;
}

/* The names stand right behind the symbols, as the kernel's linker script has it for every
 * processor: that says how many there are, whichever table of hashes there is. */
static size_t count_symbols(const struct vdso *vdso) {
  uintptr_t first = (uintptr_t)vdso->symbols, end = (uintptr_t)vdso->names;
  return end > first ? (end - first) / sizeof *vdso->symbols : 0;
}

lm_clock_function *lm_vdso_find_clock(uintptr_t start) {
  const char *name = CLOCK_NAME;
  struct vdso vdso = {0, NULL, NULL};
  if (start == 0 || name == NULL || !read_vdso(start, &vdso)) return NULL;
  for (size_t i = 0; i < count_symbols(&vdso); i++) {
    const ElfW(Sym) *symbol = &vdso.symbols[i];
    if (symbol->st_shndx != SHN_UNDEF && strcmp(vdso.names + symbol->st_name, name) == 0)
      return (lm_clock_function *)(vdso.bias + (uintptr_t)symbol->st_value);
  }
  return NULL;
}
