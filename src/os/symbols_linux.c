/* What a loaded module exports, found in its memory as the dynamic linker finds it: by the hash
 * table of its symbols (.gnu.hash). Asking the linker itself takes its lock, and may allocate. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/loaded_linux.h"
#include "os/os.h"

#define HEADERS_MAX 32
#define DYNAMIC_MAX 128
#define CHAIN_MAX 4096 /* of symbols in one bucket */

struct exports {
  uintptr_t bias, symbols, names, hash;
  bool is_held; /* the loader says that it is there, and keeps it there meanwhile */
};

static bool copy_from(uintptr_t address, void *to, size_t bytes) {
  return lm_os_read_memory((const void *)address, to, bytes) == bytes;
}

static bool copy_of(const struct exports *exports, uintptr_t address, void *to, size_t bytes) {
  if (!exports->is_held) return copy_from(address, to, bytes);
  memcpy(to, (const void *)address, bytes);
  return true;
}

/* Where it is in memory: glibc has written that into the table, others leave it as it was. */
static uintptr_t placed(const struct exports *exports, uintptr_t address) {
  return address < exports->bias ? address + exports->bias : address;
}

static void read_dynamic(struct exports *exports, uintptr_t table) {
  ElfW(Dyn) entry;
  for (size_t i = 0; i < DYNAMIC_MAX; i++) {
    if (!copy_of(exports, table + i * sizeof entry, &entry, sizeof entry)) return;
    if (entry.d_tag == DT_NULL) return;
    uintptr_t address = placed(exports, (uintptr_t)entry.d_un.d_ptr);
    if (entry.d_tag == DT_SYMTAB) exports->symbols = address;
    if (entry.d_tag == DT_STRTAB) exports->names = address;
    if (entry.d_tag == DT_GNU_HASH) exports->hash = address;
  }
}

static bool find_exports(uintptr_t start, struct exports *exports) {
  struct lm_os_module module;
  ElfW(Ehdr) file;
  ElfW(Phdr) header;
  if (!lm_os_read_module(start, &module) || !copy_from(start, &file, sizeof file)) return false;
  *exports = (struct exports){.bias = module.bias};
  for (size_t i = 0; i < lm_min((size_t)file.e_phnum, HEADERS_MAX); i++) {
    if (!copy_from(start + file.e_phoff + i * sizeof header, &header, sizeof header)) return false;
    if (header.p_type == PT_DYNAMIC)
      read_dynamic(exports, exports->bias + (uintptr_t)header.p_vaddr);
  }
  return exports->symbols != 0 && exports->names != 0 && exports->hash != 0;
}

static uint32_t hash_of_name(const char *name) {
  uint32_t hash = 5381;
  for (; *name != 0; name++) hash = hash * 33 + (uint8_t)*name;
  return hash;
}

/* Its address if the symbol is a defined one of that name, or 0. */
static uintptr_t address_if_named(const struct exports *exports, size_t index, const char *name) {
  char found[64];
  ElfW(Sym) symbol;
  size_t bytes = strlen(name) + 1;
  if (bytes > sizeof found ||
      !copy_of(exports, exports->symbols + index * sizeof symbol, &symbol, sizeof symbol) ||
      symbol.st_shndx == SHN_UNDEF ||
      !copy_of(exports, exports->names + symbol.st_name, found, bytes))
    return 0;
  return memcmp(found, name, bytes) == 0 ? exports->bias + (uintptr_t)symbol.st_value : 0;
}

static uintptr_t find_export(const struct exports *exports, const char *name) {
  uint32_t head[4], hash = hash_of_name(name), index, other;
  if (!copy_of(exports, exports->hash, head, sizeof head) || head[0] == 0) return 0;
  uint32_t bucket_count = head[0], first = head[1], filter_words = head[2];
  uintptr_t buckets = exports->hash + sizeof head + filter_words * sizeof(ElfW(Addr));
  uintptr_t chains = buckets + bucket_count * sizeof index;
  if (!copy_of(exports, buckets + hash % bucket_count * sizeof index, &index, sizeof index) ||
      index < first)
    return 0;
  for (size_t i = 0; i < CHAIN_MAX; i++, index++) {
    if (!copy_of(exports, chains + (index - first) * sizeof other, &other, sizeof other)) return 0;
    uintptr_t address = (other | 1) == (hash | 1) ? address_if_named(exports, index, name) : 0;
    if (address != 0 || (other & 1) != 0) return address;
  }
  return 0;
}

bool lm_os_find_exports(uintptr_t start, const char *const *names, uintptr_t *addresses,
                        size_t count) {
  struct exports exports;
  if (!find_exports(start, &exports)) return false;
  for (size_t i = 0; i < count; i++) {
    addresses[i] = find_export(&exports, names[i]);
    if (i == 0 && addresses[0] == 0) return false;
  }
  return true;
}

/* ---- What the loader has loaded, in the order in which it looks ---- */

#pragma weak dl_iterate_phdr
typedef int iterate_modules(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context);

/* The C library's own, where that can be found: who replaces it may not be ready, as the runtime of
 * a sanitizer that asks for its functions one after the other. */
static iterate_modules *find_iterate(void) {
  static const char *const names[] = {"dl_iterate_phdr"};
  struct loaded_object libc;
  uintptr_t found;
  if (find_loaded_object != NULL && find_loaded_object((void *)getauxval, &libc) == 0 &&
      lm_os_find_exports((uintptr_t)libc.map_start, names, &found, 1))
    return (iterate_modules *)found;
  return dl_iterate_phdr;
}

/* Of one module: its exports, and the addresses that its segments have. */
struct loaded {
  struct exports exports;
  uintptr_t start, end;
};

static void read_loaded(const struct dl_phdr_info *info, struct loaded *module) {
  *module = (struct loaded){{.bias = info->dlpi_addr, .is_held = true}, UINTPTR_MAX, 0};
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t address = info->dlpi_addr + (uintptr_t)header->p_vaddr;
    if (header->p_type == PT_DYNAMIC) read_dynamic(&module->exports, address);
    if (header->p_type != PT_LOAD) continue;
    module->start = lm_min(module->start, address);
    module->end = lm_max(module->end, address + (uintptr_t)header->p_memsz);
  }
}

static uintptr_t address_in(const struct loaded *module, const char *name) {
  const struct exports *exports = &module->exports;
  bool can_be_read = exports->symbols != 0 && exports->names != 0 && exports->hash != 0;
  return can_be_read ? find_export(exports, name) : 0;
}

struct search {
  const char *name;
  bool is_behind; /* our own module has been passed */
  struct loaded before, behind; /* the first that define it; `end` is 0 if there is none */
};

static int search_module(struct dl_phdr_info *info, size_t size, void *context) {
  struct search *search = context;
  struct loaded module;
  uintptr_t own = (uintptr_t)&lm_os_find_exports;
  (void)size;
  read_loaded(info, &module);
  if (own >= module.start && own < module.end) {
    search->is_behind = true;
    return 0;
  }
  struct loaded *found = search->is_behind ? &search->behind : &search->before;
  if (found->end == 0 && address_in(&module, search->name) != 0) *found = module;
  return search->behind.end != 0;
}

static bool search_modules(const char *name, struct search *search) {
  *search = (struct search){.name = name};
  iterate_modules *iterate = find_iterate();
  if (iterate == NULL) return false;
  iterate(search_module, search);
  return true;
}

void *lm_os_other_definition(const char *name) {
  struct search search;
  if (!search_modules(name, &search)) return NULL;
  const struct loaded *found = search.behind.end != 0 ? &search.behind : &search.before;
  return found->end != 0 ? (void *)address_in(found, name) : NULL;
}

void *lm_os_definition_behind(const char *name) {
  struct search search;
  bool is_there = search_modules(name, &search) && search.behind.end != 0;
  return is_there ? (void *)address_in(&search.behind, name) : NULL;
}

#define OF_EVERY_LIBC "strdup"

bool lm_os_is_defined_in_front(const char *name) {
  struct search search;
  /* Where the C library is in front, this module was opened, and nobody looks here first. */
  return search_modules(OF_EVERY_LIBC, &search) && search.behind.end != 0 &&
         search_modules(name, &search) && search.before.end != 0;
}

bool lm_os_is_looked_up_here(const char *name) {
  struct search search;
  return search_modules(OF_EVERY_LIBC, &search) && search.behind.end != 0 &&
         search_modules(name, &search) && search.before.end == 0;
}

bool lm_os_is_of_libc(const void *address) {
  static _Atomic(uintptr_t) start, end; /* written by any thread, always the same; `end` last */
  if (lm_load_acquire(&end) == 0) {
    struct search search;
    if (!search_modules(OF_EVERY_LIBC, &search)) return false;
    const struct loaded *libc = search.behind.end != 0 ? &search.behind : &search.before;
    if (libc->end == 0) return false;
    lm_store_relaxed(&start, libc->start);
    lm_store_release(&end, libc->end);
  }
  uintptr_t at = (uintptr_t)address;
  return at >= lm_load_relaxed(&start) && at < lm_load_relaxed(&end);
}
