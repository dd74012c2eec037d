/* What the system says of the process and of others, files of proc(5), and what the dynamic linker
 * knows of its modules. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lines_linux.h"

static const char *parse_hex(const char *string, uintptr_t *value) {
  *value = 0;
  for (;; string++) {
    unsigned digit;
    if (*string >= '0' && *string <= '9') digit = (unsigned)(*string - '0');
    else if (*string >= 'a' && *string <= 'f') digit = (unsigned)(*string - 'a') + 10;
    else return string;
    *value = *value * 16 + digit;
  }
}

/* "start-end rwxp offset device inode      path", see proc(5). */
static void parse_mapping(const char *line, struct lm_os_mapping *mapping) {
  const char *p = parse_hex(line, &mapping->start);
  p = parse_hex(p + (*p == '-'), &mapping->end);
  while (*p == ' ') p++;
  mapping->readable = p[0] == 'r';
  mapping->writable = p[0] != 0 && p[1] == 'w';
  mapping->executable = p[0] != 0 && p[1] != 0 && p[2] == 'x';
  for (int field = 0; field < 4; field++) {
    while (*p != 0 && *p != ' ') p++;
    while (*p == ' ') p++;
  }
  size_t i = 0;
  for (; p[i] != 0 && i + 1 < sizeof mapping->path; i++) mapping->path[i] = p[i];
  mapping->path[i] = 0;
}

/* The number in a line "name:   number kB"; 0 if it is another one. */
static size_t parse_kib(const char *line, const char *name) {
  size_t number = 0;
  while (*name != 0 && *line == *name) line++, name++;
  if (*name != 0) return 0;
  while (*line == ' ' || *line == '\t') line++;
  for (; *line >= '0' && *line <= '9'; line++) number = number * 10 + (size_t)(*line - '0');
  return number * LM_KIB;
}

void lm_os_read_residency(struct lm_os_residency *residency) {
  struct lm_lines lines;
  char line[128];
  *residency = (struct lm_os_residency){0, 0};
  if (!lm_lines_begin(&lines, "/proc/self/status")) return;
  while (lm_lines_read(&lines, line, sizeof line)) {
    residency->resident_bytes += parse_kib(line, "VmRSS:");
    residency->peak_bytes += parse_kib(line, "VmHWM:");
  }
  lm_lines_end(&lines);
}

void lm_os_process_name(char *name, size_t capacity) {
  struct lm_lines lines;
  name[0] = 0;
  if (!lm_lines_begin(&lines, "/proc/self/comm")) return;
  if (!lm_lines_read(&lines, name, capacity)) name[0] = 0;
  lm_lines_end(&lines);
}

static bool same_bytes(const char *text, size_t length, const char *other) {
  return strlen(other) == length && memcmp(text, other, length) == 0;
}

static bool list_has(const char *list, const char *path) {
  const char *name = path;
  for (const char *at = path; *at != 0; at++)
    if (*at == '/') name = at + 1;
  for (const char *entry = list, *end; *path != 0; entry = end + 1) {
    for (end = entry; *end != 0 && *end != ':';) end++;
    size_t length = (size_t)(end - entry);
    if (same_bytes(entry, length, name) || same_bytes(entry, length, path)) return true;
    if (*end == 0) break;
  }
  return false;
}

bool lm_os_is_program(const char *list) {
  char path[4096];
  const char *started_as = (const char *)getauxval(AT_EXECFN);
  long length = lm_syscall6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path,
                            sizeof path - 1, 0, 0);
  path[length > 0 ? length : 0] = 0;
  return list_has(list, path) || (started_as != NULL && list_has(list, started_as));
}

/* The next text that ends in a zero byte; false at the end. Whether it is `name`=`value` whole. */
static bool read_variable(struct lm_lines *lines, const char *name, const char *value,
                          bool *same) {
  const char *parts[] = {name, "=", value, NULL};
  const char **part = parts, *expected = *part;
  *same = true;
  for (;;) {
    if (lines->start == lines->end) {
      long count = lm_syscall6(SYS_read, lines->fd, (long)lines->buffer, sizeof lines->buffer, 0,
                               0, 0);
      if (count <= 0) return false;
      lines->start = 0;
      lines->end = (size_t)count;
    }
    char c = lines->buffer[lines->start++];
    while (*part != NULL && *expected == 0) expected = *++part;
    if (c == 0) break;
    *same &= *part != NULL && *expected++ == c;
    if (!*same) part = &parts[3];
  }
  *same &= *part == NULL;
  return true;
}

bool lm_os_parent_has_environment(const char *name, const char *value) {
  LM_TEXT(path, 64);
  struct lm_lines lines;
  bool same = false;
  lm_text_string(&path, "/proc/");
  lm_text_number(&path, (uint64_t)lm_syscall6(SYS_getppid, 0, 0, 0, 0, 0, 0));
  lm_text_span(&path, "/environ", sizeof "/environ");
  bool more = lm_lines_begin(&lines, path.bytes);
  if (!more) return false;
  while (more && !same) more = read_variable(&lines, name, value, &same);
  lm_lines_end(&lines);
  return more && same;
}

static bool same_string(const char *a, const char *b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}

struct mapping_reader {
  struct lm_lines lines;
  struct lm_os_mapping mapping; /* the last one read */
  char line[sizeof((struct lm_os_mapping *)0)->path + 128];
};

static bool begin_mappings(struct mapping_reader *reader) {
  reader->mapping.path[0] = 0;
  reader->mapping.module_start = 0;
  return lm_lines_begin(&reader->lines, "/proc/self/maps");
}

static bool next_mapping(struct mapping_reader *reader) {
  struct lm_os_mapping *mapping = &reader->mapping;
  uintptr_t module_start = mapping->module_start;
  char last_path[sizeof mapping->path];
  for (size_t i = 0; i < sizeof last_path; i++) last_path[i] = mapping->path[i];
  if (!lm_lines_read(&reader->lines, reader->line, sizeof reader->line)) return false;
  parse_mapping(reader->line, mapping);
  bool same = mapping->path[0] != 0 && same_string(mapping->path, last_path);
  mapping->module_start = same ? module_start : mapping->start;
  return true;
}

static void end_mappings(struct mapping_reader *reader) {
  lm_lines_end(&reader->lines);
}

bool lm_os_find_mapping(uintptr_t address, struct lm_os_mapping *mapping) {
  struct mapping_reader reader;
  bool found = false;
  if (!begin_mappings(&reader)) return false;
  while (!found && next_mapping(&reader))
    found = reader.mapping.start <= address && address < reader.mapping.end;
  end_mappings(&reader);
  if (found) *mapping = reader.mapping;
  return found;
}

/* Where the program's own segments end; 0 if that is not known. */
static uintptr_t program_end(void) {
  const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
  uintptr_t bias = 0, end = 0;
  for (size_t i = 0; headers != NULL && i < getauxval(AT_PHNUM); i++) {
    if (headers[i].p_type == PT_PHDR) bias = (uintptr_t)headers - headers[i].p_vaddr;
    if (headers[i].p_type == PT_LOAD)
      end = lm_max(end, (uintptr_t)(headers[i].p_vaddr + headers[i].p_memsz));
  }
  return end + bias;
}

/* The kernel names the mapping; emulators do not. */
uintptr_t lm_os_break_start(const struct lm_os_mapping *mapping) {
  uintptr_t end = (uintptr_t)lm_syscall6(SYS_brk, 0, 0, 0, 0, 0, 0), first = program_end();
  bool is_break = same_string(mapping->path, "[heap]") ||
                  (mapping->start < end && end <= mapping->end);
  if (!is_break) return mapping->end;
  return first > mapping->start && first < mapping->end ? first : mapping->start;
}

void lm_os_visit_code(lm_os_mapping_visitor *visit, void *context) {
  struct mapping_reader reader;
  if (!begin_mappings(&reader)) return;
  while (next_mapping(&reader))
    if (reader.mapping.executable && !visit(context, &reader.mapping)) break;
  end_mappings(&reader);
}

/* As in <linux/futex.h>, which musl's compiler does not find. */
#define FUTEX_CMP_REQUEUE_PRIVATE (4 | 128)

/* futex compares the word with what is expected there before it wakes nobody and moves nobody: a
 * call that sandboxes permit where there are threads. */
static bool is_word_readable(uintptr_t address) {
  if (lm_os_makes_few_calls()) return false;
  long result = lm_syscall6(LM_SYS_FUTEX, (long)address, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0,
                            (long)address, 0);
  return result == 0 || result == -EAGAIN;
}

bool lm_os_is_readable(const void *address) {
  uintptr_t first = lm_align_down((uintptr_t)address, 4);
  uintptr_t last = lm_align_down((uintptr_t)address + 7, 4);
  if (address == NULL || !is_word_readable(first)) return false;
  return (first ^ last) < lm_os.page_bytes || is_word_readable(last);
}

size_t lm_os_read_memory(const void *address, void *buffer, size_t size) {
  const char *from = address;
  size_t done = 0;
  while (done < size) {
    size_t in_page = (uintptr_t)(from + done) & (lm_os.page_bytes - 1);
    if (!is_word_readable((uintptr_t)(from + done) - in_page)) break;
    size_t count = lm_min(lm_os.page_bytes - in_page, size - done);
    memcpy((char *)buffer + done, from + done, count);
    done += count;
  }
  return done;
}

/* ---- What an ELF file that is loaded says of itself ---- */

#define HEADERS_MAX 32

static void read_build_id(const char *notes, size_t size, struct lm_os_module *module) {
  ElfW(Nhdr) note;
  for (size_t at = 0; at + sizeof note <= size;) {
    char name[4];
    if (lm_os_read_memory(notes + at, &note, sizeof note) != sizeof note) return;
    const char *owner = notes + at + sizeof note;
    const char *description = owner + lm_align_up(note.n_namesz, 4);
    bool is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name &&
                 lm_os_read_memory(owner, name, sizeof name) == sizeof name &&
                 memcmp(name, "GNU", sizeof name) == 0 && note.n_descsz <= LM_OS_BUILD_ID_BYTES;
    if (is_id) {
      module->build_id_bytes =
          lm_os_read_memory(description, module->build_id, note.n_descsz);
      return;
    }
    at = (size_t)(description - notes) + lm_align_up(note.n_descsz, 4);
  }
}

bool lm_os_read_module(uintptr_t start, struct lm_os_module *module) {
  ElfW(Ehdr) file;
  ElfW(Phdr) headers[HEADERS_MAX];
  *module = (struct lm_os_module){.bias = 0};
  if (lm_os_read_memory((const void *)start, &file, sizeof file) != sizeof file ||
      memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof *headers)
    return false;
  size_t count = lm_min((size_t)file.e_phnum, HEADERS_MAX), bytes = count * sizeof *headers;
  if (lm_os_read_memory((const void *)(start + file.e_phoff), headers, bytes) != bytes)
    return false;
  for (size_t i = 0; i < count; i++)
    if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
      module->bias = start - (uintptr_t)headers[i].p_vaddr;
  for (size_t i = 0; i < count; i++) {
    uintptr_t address = module->bias + (uintptr_t)headers[i].p_vaddr;
    if (headers[i].p_type == PT_GNU_EH_FRAME) module->frame_table = address;
    if (headers[i].p_type == PT_NOTE && module->build_id_bytes == 0)
      read_build_id((const char *)address, (size_t)headers[i].p_memsz, module);
  }
  return true;
}

#pragma weak dlsym
#pragma weak dlclose
#pragma weak dladdr

typedef void *symbol_finder(void *handle, const char *name);

/* dlsym, and not the one that the shared library defines itself (api/handles_linux.c). */
static symbol_finder *finder(void) {
#if LM_SHARED
  static _Atomic(uintptr_t) known; /* written by any thread, always the same */
  uintptr_t function = lm_load_relaxed(&known);
  if (function == 0) {
    function = (uintptr_t)lm_os_other_definition("dlsym");
    lm_store_relaxed(&known, function);
  }
  return (symbol_finder *)function;
#else
  return dlsym;
#endif
}

static bool is_ours(void *function) {
  struct lm_os_mapping own, other;
  return !lm_os_find_mapping((uintptr_t)&lm_os_next_function, &own) ||
         !lm_os_find_mapping((uintptr_t)function, &other) ||
         own.module_start == other.module_start;
}

void *lm_os_next_function(const char *name) {
  symbol_finder *find = finder();
  if (find == NULL) return NULL;
  void *function = find(RTLD_NEXT, name);
  if (function != NULL) return function;
  /* Nothing is next to a library that was opened with dlopen and needs no other; the program has
   * what we look for. */
  function = find(RTLD_DEFAULT, name);
  return function != NULL && !is_ours(function) ? function : NULL;
}

/* A module that is loaded, or NULL. dlopen is looked up, since linkers warn of a program that is
 * static and refers to it. */
static void *open_loaded(const char *path, int flags) {
  symbol_finder *find = finder();
  if (find == NULL) return NULL;
  void *(*open)(const char *, int) = (void *(*)(const char *, int))find(RTLD_DEFAULT, "dlopen");
  return open != NULL ? open(path, RTLD_LAZY | RTLD_NOLOAD | flags) : NULL;
}

/* As the file's module sees it, if that is loaded. */
static void *function_seen_by_module(const char *path, const char *name) {
  void *module = open_loaded(path, 0);
  if (module == NULL) return NULL;
  void *function = finder()(module, name);
  dlclose(module);
  return function != NULL && !is_ours(function) ? function : NULL;
}

static void *function_of_any_module(const char *name) {
  struct mapping_reader reader;
  void *function = NULL;
  if (!begin_mappings(&reader)) return NULL;
  while (function == NULL && next_mapping(&reader))
    if (reader.mapping.executable && reader.mapping.path[0] == '/')
      function = function_seen_by_module(reader.mapping.path, name);
  end_mappings(&reader);
  return function;
}

void *lm_os_function_seen_by(const void *caller, const char *name) {
  Dl_info module;
  void *function = lm_os_next_function(name);
  if (function != NULL || dlclose == NULL || dladdr == NULL) return function;
  if (dladdr(caller, &module) != 0 && module.dli_fname != NULL)
    function = function_seen_by_module(module.dli_fname, name);
  return function != NULL ? function : function_of_any_module(name);
}

/* ---- Who else replaces malloc ---- */

extern void __asan_init(void) LM_WEAK;
extern void __hwasan_init(void) LM_WEAK;
extern void __msan_init(void) LM_WEAK;
extern void __tsan_init(void) LM_WEAK;

const char *lm_os_sanitizer(void) {
  if (__asan_init != NULL) return "AddressSanitizer";
  if (__hwasan_init != NULL) return "HWAddressSanitizer";
  if (__msan_init != NULL) return "MemorySanitizer";
  return __tsan_init != NULL ? "ThreadSanitizer" : NULL;
}

bool lm_os_serves(const char *name, const void *function) {
  symbol_finder *find = LM_SHARED ? finder() : NULL;
  return find == NULL || find(RTLD_DEFAULT, name) == function;
}

static bool starts_with(const char *text, const char *start) {
  return strlen(text) >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

static bool is_cxx_runtime(const char *path) {
  const char *name = path;
  for (; *path != '\0'; path++)
    if (*path == '/') name = path + 1;
  return starts_with(name, "libstdc++.") || starts_with(name, "libc++");
}

bool lm_os_library_has_new(void) {
  Dl_info module;
  void *function = lm_os_next_function(LM_BITS_64 ? "_Znwm" : "_Znwj");
  if (function == NULL || dladdr == NULL || dladdr(function, &module) == 0) return false;
  return module.dli_fname != NULL && !is_cxx_runtime(module.dli_fname);
}

/* ---- The module that this code is a part of ---- */

/* Made by the linker. */
extern const ElfW(Ehdr) __ehdr_start LM_WEAK __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] LM_WEAK __attribute__((visibility("hidden")));

static bool is_program(void) {
  const char *header = (const char *)&__ehdr_start;
  return header != NULL && (uintptr_t)header + __ehdr_start.e_phoff == getauxval(AT_PHDR);
}

/* As a shared library that was linked with -z nodelete. */
static bool is_marked_to_stay(void) {
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry != NULL && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_FLAGS_1) return (entry->d_un.d_val & DF_1_NODELETE) != 0;
  return false;
}

void lm_os_stay_loaded(void) {
  Dl_info module;
  if (dladdr == NULL || is_program() || is_marked_to_stay()) return;
  if (dladdr(&lm_os, &module) != 0 && module.dli_fname != NULL)
    open_loaded(module.dli_fname, RTLD_NODELETE);
}
