/* What a loaded module exports, found in its memory as the dynamic linker finds it: by the hash
 * table of its symbols (.gnu.hash). Asking the linker itself takes its lock, and may allocate. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "os/os.h"

#define HEADERS_MAX 32
#define DYNAMIC_MAX 128
#define CHAIN_MAX 4096 /* of symbols in one bucket */

struct exports {
  uintptr_t bias, symbols, names, hash;
};

static bool copy_from(uintptr_t address, void *to, size_t bytes) {
  return lm_os_read_memory((const void *)address, to, bytes) == bytes;
}

/* Where it is in memory: glibc has written that into the table, others leave it as it was. */
static uintptr_t placed(const struct exports *exports, uintptr_t address) {
  return address < exports->bias ? address + exports->bias : address;
}

static void read_dynamic(struct exports *exports, uintptr_t table) {
  ElfW(Dyn) entry;
  for (size_t i = 0; i < DYNAMIC_MAX; i++) {
    if (!copy_from(table + i * sizeof entry, &entry, sizeof entry)) return;
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
  *exports = (struct exports){module.bias, 0, 0, 0};
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
      !copy_from(exports->symbols + index * sizeof symbol, &symbol, sizeof symbol) ||
      symbol.st_shndx == SHN_UNDEF || !copy_from(exports->names + symbol.st_name, found, bytes))
    return 0;
  return memcmp(found, name, bytes) == 0 ? exports->bias + (uintptr_t)symbol.st_value : 0;
}

static uintptr_t find_export(const struct exports *exports, const char *name) {
  uint32_t head[4], hash = hash_of_name(name), index, other;
  if (!copy_from(exports->hash, head, sizeof head) || head[0] == 0) return 0;
  uint32_t bucket_count = head[0], first = head[1], filter_words = head[2];
  uintptr_t buckets = exports->hash + sizeof head + filter_words * sizeof(ElfW(Addr));
  uintptr_t chains = buckets + bucket_count * sizeof index;
  if (!copy_from(buckets + hash % bucket_count * sizeof index, &index, sizeof index) ||
      index < first)
    return 0;
  for (size_t i = 0; i < CHAIN_MAX; i++, index++) {
    if (!copy_from(chains + (index - first) * sizeof other, &other, sizeof other)) return 0;
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
