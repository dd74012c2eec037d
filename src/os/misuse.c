#include "os/misuse.h"

#include "base/format.h"
#include "os/os.h"
#include "os/panic.h"

#define LINE_BYTES 512

static void add_module(struct lm_text *text, void *caller) {
  struct lm_os_mapping mapping;
  if (!lm_os_find_mapping((uintptr_t)caller, &mapping) || mapping.path[0] == 0) {
    lm_text_string(text, "unknown code at ");
    lm_text_address(text, (uintptr_t)caller);
    return;
  }
  lm_text_string(text, mapping.path);
  lm_text_char(text, '+');
  lm_text_address(text, (uintptr_t)caller - mapping.module_start);
}

/* Who has made the mistake, or that it is not known. */
static void add_caller(struct lm_text *text, void *caller) {
  if (caller == NULL) {
    lm_text_string(text, ", found later");
    return;
  }
  lm_text_string(text, " by ");
  add_module(text, caller);
}

static void add_invalid(struct lm_text *text, const char *what, const void *address,
                        const char *call, void *caller) {
  lm_text_string(text, "loam: invalid ");
  lm_text_string(text, what);
  lm_text_char(text, ' ');
  lm_text_address(text, (uintptr_t)address);
  lm_text_string(text, " given to ");
  lm_text_string(text, call);
  add_caller(text, caller);
}

static void add_invalid_pointer(struct lm_text *text, const void *address, const char *call,
                                void *caller) {
  add_invalid(text, "pointer", address, call, caller);
}

void lm_misuse_foreign(const void *address, const char *call, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  add_invalid_pointer(&text, address, call, caller);
  lm_text_string(&text, ": not a block of loam or of the C library");
  lm_panic(&text);
}

void lm_misuse_not_a_start(const void *address, const char *call, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  add_invalid_pointer(&text, address, call, caller);
  lm_text_string(&text, ": not the start of a block");
  lm_panic(&text);
}

void lm_misuse_not_of_heap(const void *address, const char *call, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  add_invalid_pointer(&text, address, call, caller);
  lm_text_string(&text, ": not a block of that heap");
  lm_panic(&text);
}

void lm_misuse_heap(const void *heap, const char *call, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  add_invalid(&text, "heap", heap, call, caller);
  lm_text_string(&text, ": it has been destroyed");
  lm_panic(&text);
}

void lm_misuse_double_free(const void *address, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: double free of ");
  lm_text_address(&text, (uintptr_t)address);
  add_caller(&text, caller);
  lm_panic(&text);
}

void lm_misuse_write_after_free(const void *address) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: write after free in block ");
  lm_text_address(&text, (uintptr_t)address);
  lm_panic(&text);
}

void lm_misuse_broken_link(size_t block_bytes) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: write after free in a block of ");
  lm_text_number(&text, block_bytes);
  lm_text_string(&text, " bytes");
  lm_panic(&text);
}

void lm_misuse_write_before_start(const void *address) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: write before the start of block ");
  lm_text_address(&text, (uintptr_t)address);
  lm_panic(&text);
}

void lm_misuse_write_past_end(const void *address, size_t size) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: write past the end of block ");
  lm_text_address(&text, (uintptr_t)address);
  lm_text_string(&text, " of ");
  lm_text_number(&text, size);
  lm_text_string(&text, " bytes");
  lm_panic(&text);
}

void lm_misuse_access(const void *address, const void *block, size_t size, bool freed) {
  LM_TEXT(text, LINE_BYTES);
  uintptr_t place = (uintptr_t)address, start = (uintptr_t)block;
  lm_text_string(&text, freed           ? "loam: access after free at "
                        : place < start ? "loam: access before the start at "
                                        : "loam: access past the end at ");
  lm_text_address(&text, place);
  lm_text_string(&text, " of block ");
  lm_text_address(&text, start);
  lm_text_string(&text, " of ");
  lm_text_number(&text, size);
  lm_text_string(&text, " bytes");
  lm_panic(&text);
}

void lm_misuse_print_place(uintptr_t address) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam:   ");
  add_module(&text, (void *)address);
  lm_text_char(&text, '\n');
  lm_os_write(2, text.bytes, text.length);
}

void lm_misuse_wrong_size(const void *address, size_t size, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: wrong size ");
  lm_text_number(&text, size);
  lm_text_string(&text, " given to free_sized for block ");
  lm_text_address(&text, (uintptr_t)address);
  add_caller(&text, caller);
  lm_panic(&text);
}

void lm_misuse_mismatch(const void *address, const char *kind, const char *call, void *caller) {
  LM_TEXT(text, LINE_BYTES);
  lm_text_string(&text, "loam: block ");
  lm_text_address(&text, (uintptr_t)address);
  lm_text_string(&text, " of ");
  lm_text_string(&text, kind);
  lm_text_string(&text, " given to ");
  lm_text_string(&text, call);
  add_caller(&text, caller);
  lm_panic(&text);
}
