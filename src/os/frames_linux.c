/* DWARF call frame information, as much of it as leads from frame to frame: the frame's end (the
 * "canonical frame address"), the return address, the frame pointer. See the Linux Standard Base on
 * .eh_frame and .eh_frame_hdr, and DWARF 5, 6.4. */
#include "os/frames_linux.h"

#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "os/loaded_linux.h"
#include "os/lock.h"
#include "os/os.h"

#if LM_HAS_FRAME_ROWS

#if defined(__x86_64__)
enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_RETURN = 16 };
#else
enum { REGISTER_FRAME = 29, REGISTER_STACK = 31, REGISTER_RETURN = 30 };
#endif

/* ---- Bytes that have been copied ---- */

struct bytes {
  const uint8_t *at, *end;
  uintptr_t address; /* of `at`, where it was copied from */
  bool bad;          /* there were not enough */
};

static struct bytes copy_bytes(uintptr_t address, void *buffer, size_t capacity) {
  size_t length = lm_os_read_memory((const void *)address, buffer, capacity);
  return (struct bytes){buffer, (const uint8_t *)buffer + length, address, false};
}

/* An integer of so many bytes, in the machine's order. */
static uint64_t take_number(struct bytes *bytes, size_t count) {
  uint64_t value = 0;
  if ((size_t)(bytes->end - bytes->at) < count) {
    bytes->bad = true;
    bytes->at = bytes->end;
    return 0;
  }
  memcpy(&value, bytes->at, count); /* both processors are little-endian */
  bytes->at += count;
  bytes->address += count;
  return value;
}

static void skip_bytes(struct bytes *bytes, uint64_t count) {
  uint64_t left = (uint64_t)(bytes->end - bytes->at);
  bytes->bad |= count > left;
  bytes->at += count > left ? left : count;
  bytes->address += count > left ? left : count;
}

static uint64_t take_unsigned(struct bytes *bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; !bytes->bad; shift += 7) {
    uint64_t byte = take_number(bytes, 1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  return value;
}

static int64_t take_signed(struct bytes *bytes) {
  uint64_t value = 0, byte = 0;
  unsigned shift = 0;
  do {
    byte = take_number(bytes, 1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
  } while ((byte & 0x80) != 0 && !bytes->bad);
  if (shift < 64 && (byte & 0x40) != 0) value |= ~(uint64_t)0 << shift;
  return (int64_t)value;
}

/* DW_EH_PE_*: the format, and what the value is relative to. */
enum { POINTER_OMITTED = 0xff, POINTER_FORMAT = 0x0f, POINTER_RELATIVE = 0x70,
       POINTER_TO_ITSELF = 0x10, POINTER_TO_TABLE = 0x30 };

static uintptr_t take_pointer(struct bytes *bytes, unsigned encoding, uintptr_t table) {
  uintptr_t base = 0, value;
  if (encoding == POINTER_OMITTED) return 0;
  if ((encoding & POINTER_RELATIVE) == POINTER_TO_ITSELF) base = bytes->address;
  if ((encoding & POINTER_RELATIVE) == POINTER_TO_TABLE) base = table;
  switch (encoding & POINTER_FORMAT) {
  case 0x1: value = (uintptr_t)take_unsigned(bytes); break;
  case 0x2: value = (uintptr_t)take_number(bytes, 2); break;
  case 0x3: value = (uintptr_t)take_number(bytes, 4); break;
  case 0x9: value = (uintptr_t)take_signed(bytes); break;
  case 0xa: value = (uintptr_t)(intptr_t)(int16_t)take_number(bytes, 2); break;
  case 0xb: value = (uintptr_t)(intptr_t)(int32_t)take_number(bytes, 4); break;
  default: value = (uintptr_t)take_number(bytes, sizeof value);
  }
  return value + base;
}

/* ---- Modules ---- */

struct module {
  uintptr_t start, end; /* of code, or of all that is mapped for it */
  uintptr_t header;     /* its ELF header */
  uintptr_t table;      /* its .eh_frame_hdr, or 0 */
};
#define MODULE_COUNT 64
static struct module modules[MODULE_COUNT]; /* those looked up last */
/* How many ever were. Written by one thread at a time, read by any. */
static _Atomic(uint32_t) module_count;

uint32_t lm_os_modules_met(void) { return lm_load_relaxed(&module_count); }

bool lm_os_met_module(uint32_t index, struct lm_os_met_module *met) {
  lm_lock_take(&lm_unwind_lock);
  bool is_known = lm_load_relaxed(&module_count) - index <= MODULE_COUNT;
  const struct module *module = &modules[index % MODULE_COUNT];
  if (is_known) *met = (struct lm_os_met_module){module->header, module->start, module->end};
  lm_lock_free(&lm_unwind_lock);
  return is_known;
}

static const struct module *find_module(uintptr_t pc);

/* In a static program it knows no module before the C library has begun, not even this one. */
static bool knows_modules(void) {
  struct loaded_object object;
  return find_loaded_object != NULL && find_loaded_object((void *)find_module, &object) == 0;
}

/* Elsewhere by a file of the system's. */
static bool look_up_module(uintptr_t pc, struct module *module) {
  struct loaded_object object;
  if (knows_modules()) {
    if (find_loaded_object((void *)pc, &object) != 0) return false;
    uintptr_t start = (uintptr_t)object.map_start;
    *module = (struct module){start, (uintptr_t)object.map_end, start,
                              (uintptr_t)object.frame_table};
    return true;
  }
  struct lm_os_mapping mapping;
  struct lm_os_module found;
  if (!lm_os_find_mapping(pc, &mapping)) return false;
  *module = (struct module){mapping.start, mapping.end, mapping.module_start, 0};
  if (lm_os_read_module(mapping.module_start, &found)) module->table = found.frame_table;
  return true;
}

static const struct module *find_module(uintptr_t pc) {
  for (size_t i = 0; i < MODULE_COUNT; i++)
    if (modules[i].start <= pc && pc < modules[i].end) return &modules[i];
  uint32_t count = lm_load_relaxed(&module_count);
  struct module *module = &modules[count % MODULE_COUNT];
  if (!look_up_module(pc, module)) return NULL;
  lm_store_relaxed(&module_count, count + 1);
  return module;
}

/* ---- The description of a function ---- */

struct function {
  uintptr_t start; /* what `location` begins with */
  unsigned pointer_encoding;
  uint64_t code_factor;
  int64_t data_factor;
  bool is_signal; /* the kernel made the frame */
  struct bytes common, own; /* instructions */
};

/* A table of {code, description}, both relative to itself, sorted: the last entry at or below
 * `pc`. Returns the description's address, or 0. */
static uintptr_t search_table(uintptr_t table, uintptr_t pc) {
  uint8_t buffer[32];
  struct bytes head = copy_bytes(table, buffer, sizeof buffer);
  unsigned version = (unsigned)take_number(&head, 1), frame = (unsigned)take_number(&head, 1);
  unsigned count_encoding = (unsigned)take_number(&head, 1);
  unsigned entries = (unsigned)take_number(&head, 1);
  take_pointer(&head, frame, table);
  size_t low = 0, high = take_pointer(&head, count_encoding, table);
  if (head.bad || version != 1 || entries != (POINTER_TO_TABLE | 0xb)) return 0;
  int32_t entry[2] = {0, 0}, best = 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const char *address = (const char *)head.address + middle * sizeof entry;
    if (lm_os_read_memory(address, entry, sizeof entry) != sizeof entry) return 0;
    if (table + (uintptr_t)(intptr_t)entry[0] <= pc) {
      best = entry[1];
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return best == 0 ? 0 : table + (uintptr_t)(intptr_t)best;
}

/* What the functions of a compilation have in common (a CIE). */
static bool read_common(struct function *function, struct bytes bytes) {
  uint64_t length = take_number(&bytes, 4);
  if (length > (uint64_t)(bytes.end - bytes.at)) return false; /* longer ones do not occur */
  bytes.end = bytes.at + length;
  take_number(&bytes, 4);
  uint64_t version = take_number(&bytes, 1);
  const char *letters = (const char *)bytes.at;
  while (take_number(&bytes, 1) != 0) {}
  function->code_factor = take_unsigned(&bytes);
  function->data_factor = take_signed(&bytes);
  uint64_t return_register = version == 1 ? take_number(&bytes, 1) : take_unsigned(&bytes);
  if (bytes.bad || return_register != REGISTER_RETURN || *letters != 'z') return false;
  struct bytes more = bytes; /* what the letters stand for, so many bytes */
  skip_bytes(&bytes, take_unsigned(&bytes));
  take_unsigned(&more);
  for (letters++; *letters != 0; letters++) {
    if (*letters == 'R') function->pointer_encoding = (unsigned)take_number(&more, 1);
    else if (*letters == 'L') take_number(&more, 1);
    else if (*letters == 'P') take_pointer(&more, (unsigned)take_number(&more, 1), 0);
    else if (*letters == 'S') function->is_signal = true;
    else if (*letters != 'B' && *letters != 'G') return false;
  }
  function->common = bytes;
  return !bytes.bad && !more.bad;
}

#define COMMON_BYTES 256
#define OWN_BYTES 2048

/* The function (an FDE) whose description is at `address`, if `pc` is in it. */
static bool read_function(struct function *function, uintptr_t address, uintptr_t pc,
                          uint8_t *common, uint8_t *own) {
  struct bytes bytes = copy_bytes(address, own, OWN_BYTES);
  uint64_t length = take_number(&bytes, 4);
  if (length < (uint64_t)(bytes.end - bytes.at)) bytes.end = bytes.at + length;
  uintptr_t here = bytes.address;
  uintptr_t of_common = here - (uint32_t)take_number(&bytes, 4);
  *function = (struct function){.pointer_encoding = 0};
  if (!read_common(function, copy_bytes(of_common, common, COMMON_BYTES))) return false;
  function->start = take_pointer(&bytes, function->pointer_encoding, 0);
  uintptr_t size = take_pointer(&bytes, function->pointer_encoding & POINTER_FORMAT, 0);
  skip_bytes(&bytes, take_unsigned(&bytes));
  function->own = bytes;
  return !bytes.bad && pc - function->start < size;
}

/* ---- Its instructions ---- */

/* What holds at a place. A rule is LM_FRAME_SAME or an offset; `unusual`: one that is not known. */
struct rules {
  uint64_t end_register;
  int64_t end_offset, return_offset, pointer_offset;
  bool indirect, unusual, no_return;
};

struct machine {
  const struct function *function;
  uintptr_t location;
  struct rules rules, initial, saved[8];
  size_t saved_count;
};

static void set_rule(struct machine *machine, uint64_t number, int64_t offset) {
  if (number == REGISTER_RETURN) machine->rules.return_offset = offset;
  if (number == REGISTER_FRAME) machine->rules.pointer_offset = offset;
}

static void restore_rule(struct machine *machine, uint64_t number) {
  if (number == REGISTER_RETURN) machine->rules.return_offset = machine->initial.return_offset;
  if (number == REGISTER_FRAME) machine->rules.pointer_offset = machine->initial.pointer_offset;
}

static int64_t factored(const struct machine *machine, int64_t offset) {
  return offset * machine->function->data_factor;
}

/* A block "frame pointer + offset", and behind that what `last` says; LM_FRAME_SAME if it is
 * another one. */
static int64_t take_frame_expression(struct bytes *bytes, bool dereferenced) {
  uint64_t length = take_unsigned(bytes);
  struct bytes block = *bytes;
  skip_bytes(bytes, length);
  if (bytes->bad) return LM_FRAME_SAME;
  block.end = bytes->at;
  bool frame = take_number(&block, 1) == 0x70 + REGISTER_FRAME;
  int64_t offset = take_signed(&block);
  if (dereferenced && take_number(&block, 1) != 0x06) frame = false;
  return frame && !block.bad && block.at == block.end ? offset : LM_FRAME_SAME;
}

static void set_end(struct machine *machine, uint64_t number, int64_t offset) {
  machine->rules.end_register = number;
  machine->rules.end_offset = offset;
  machine->rules.indirect = false;
}

static void set_end_expression(struct machine *machine, struct bytes *bytes) {
  set_end(machine, REGISTER_FRAME, take_frame_expression(bytes, true));
  machine->rules.indirect = true;
  machine->rules.unusual |= machine->rules.end_offset == LM_FRAME_SAME;
}

static void save_rules(struct machine *machine) {
  if (machine->saved_count < sizeof machine->saved / sizeof *machine->saved)
    machine->saved[machine->saved_count++] = machine->rules;
  else machine->rules.unusual = true;
}

static void restore_rules(struct machine *machine) {
  if (machine->saved_count != 0) machine->rules = machine->saved[--machine->saved_count];
  else machine->rules.unusual = true;
}

/* The frame pointer is where an expression says; for all others it does not matter. */
static void set_expression(struct machine *machine, struct bytes *bytes) {
  uint64_t number = take_unsigned(bytes);
  int64_t offset = take_frame_expression(bytes, false);
  if (number == REGISTER_FRAME) machine->rules.pointer_offset = offset;
  else if (number == REGISTER_RETURN) machine->rules.unusual = true;
}

static bool move_location(struct machine *machine, uint64_t count, uintptr_t pc) {
  machine->location += count * machine->function->code_factor;
  return machine->location <= pc;
}

/* An instruction with its operands in the bytes behind. False: the place has been reached. */
static bool run_extended(struct machine *machine, struct bytes *bytes, unsigned code,
                          uintptr_t pc) {
  uint64_t number;
  switch (code) {
  case 0x00: break; /* nop */
  case 0x01:
    machine->location = take_pointer(bytes, machine->function->pointer_encoding, 0);
    return machine->location <= pc;
  case 0x02: return move_location(machine, take_number(bytes, 1), pc);
  case 0x03: return move_location(machine, take_number(bytes, 2), pc);
  case 0x04: return move_location(machine, take_number(bytes, 4), pc);
  case 0x05:
    number = take_unsigned(bytes);
    set_rule(machine, number, factored(machine, (int64_t)take_unsigned(bytes)));
    break;
  case 0x06: restore_rule(machine, take_unsigned(bytes)); break;
  case 0x07:
    machine->rules.no_return |= take_unsigned(bytes) == REGISTER_RETURN;
    break;
  case 0x08: set_rule(machine, take_unsigned(bytes), LM_FRAME_SAME); break;
  case 0x09:
    set_rule(machine, take_unsigned(bytes), LM_FRAME_SAME);
    take_unsigned(bytes);
    break;
  case 0x0a: save_rules(machine); break;
  case 0x0b: restore_rules(machine); break;
  case 0x0c:
    number = take_unsigned(bytes);
    set_end(machine, number, (int64_t)take_unsigned(bytes));
    break;
  case 0x0d: set_end(machine, take_unsigned(bytes), machine->rules.end_offset); break;
  case 0x0e: machine->rules.end_offset = (int64_t)take_unsigned(bytes); break;
  case 0x0f: set_end_expression(machine, bytes); break;
  case 0x10: set_expression(machine, bytes); break;
  case 0x11:
    number = take_unsigned(bytes);
    set_rule(machine, number, factored(machine, take_signed(bytes)));
    break;
  case 0x12:
    number = take_unsigned(bytes);
    set_end(machine, number, factored(machine, take_signed(bytes)));
    break;
  case 0x13: machine->rules.end_offset = factored(machine, take_signed(bytes)); break;
  case 0x2d: break;                       /* the return address is signed from here on, or not */
  case 0x2e: take_unsigned(bytes); break; /* how much was pushed for a call */
  default: machine->rules.unusual = true;
  }
  return true;
}

static bool run_instruction(struct machine *machine, struct bytes *bytes, uintptr_t pc) {
  unsigned code = (unsigned)take_number(bytes, 1), operand = code & 0x3f;
  switch (code >> 6) {
  case 1: return move_location(machine, operand, pc);
  case 2:
    set_rule(machine, operand, factored(machine, (int64_t)take_unsigned(bytes)));
    return true;
  case 3: restore_rule(machine, operand); return true;
  default: return run_extended(machine, bytes, operand, pc);
  }
}

static void run_instructions(struct machine *machine, struct bytes bytes, uintptr_t pc) {
  while (bytes.at < bytes.end && !bytes.bad && !machine->rules.unusual)
    if (!run_instruction(machine, &bytes, pc)) break;
  machine->rules.unusual |= bytes.bad;
}

static bool fits_row(int64_t offset) { return offset >= INT16_MIN && offset <= INT16_MAX; }

static struct lm_frame_row row_of(const struct rules *rules) {
  struct lm_frame_row row = {.kind = LM_FRAME_UNKNOWN};
  bool known = !rules->unusual && rules->end_offset >= -(1 << 20) &&
               rules->end_offset <= 1 << 20 && fits_row(rules->return_offset) &&
               fits_row(rules->pointer_offset);
  if (rules->no_return) row.kind = LM_FRAME_LAST;
  if (rules->no_return || !known) return row;
  row.end_offset = (int32_t)rules->end_offset;
  row.return_offset = (int16_t)rules->return_offset;
  row.pointer_offset = (int16_t)rules->pointer_offset;
  if (rules->end_register == REGISTER_STACK) row.kind = LM_FRAME_STACK;
  if (rules->end_register == REGISTER_FRAME)
    row.kind = rules->indirect ? LM_FRAME_INDIRECT : LM_FRAME_POINTER;
  return row;
}

struct lm_frame_row lm_frames_find(uintptr_t pc) {
  const struct lm_frame_row unknown = {.kind = LM_FRAME_UNKNOWN};
  uint8_t common[COMMON_BYTES], own[OWN_BYTES];
  struct function function;
  const struct module *module = find_module(pc);
  if (module == NULL || module->table == 0) return unknown;
  uintptr_t description = search_table(module->table, pc);
  if (description == 0 || !read_function(&function, description, pc, common, own)) return unknown;
  if (function.is_signal) return (struct lm_frame_row){.kind = LM_FRAME_LAST};
  struct machine machine = {.function = &function, .location = function.start};
  machine.rules.return_offset = machine.rules.pointer_offset = LM_FRAME_SAME;
  run_instructions(&machine, function.common, UINTPTR_MAX);
  machine.initial = machine.rules;
  machine.location = function.start;
  run_instructions(&machine, function.own, pc);
  return row_of(&machine.rules);
}

#else

uint32_t lm_os_modules_met(void) { return 0; }
bool lm_os_met_module(uint32_t index, struct lm_os_met_module *met) {
  (void)index, (void)met;
  return false;
}

struct lm_frame_row lm_frames_find(uintptr_t pc) {
  (void)pc;
  return (struct lm_frame_row){.kind = LM_FRAME_UNKNOWN};
}

#endif
