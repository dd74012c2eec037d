#include "profile/python_code.h"

#include <string.h>

#include "base/bits.h"

#if LM_READS_PYTHON

/* ---- Texts ---- */

/* The beginning of a text and of an object of bytes. */
struct python_object {
  int64_t references;
  uint64_t type;
  int64_t length;
  union {
    uint64_t bytes[2]; /* a hash, and the first of them: at least a zero behind the last */
    struct {
      uint64_t hash;
      uint32_t state;
    } text;
  };
};

static const struct python_object *view_object(const struct lm_python_reader *reader,
                                               uintptr_t address, uintptr_t type,
                                               struct python_object *buffer) {
  const struct python_object *object = lm_python_view(reader, address, buffer, sizeof *buffer);
  return object != NULL && object->type == type && object->length >= 0 ? object : NULL;
}

/* As UTF-8 has it; what is no character is a question mark. */
static size_t encode(uint32_t c, char *to) {
  if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000)) c = '?';
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = bytes - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
  to[0] = (char)((0xf00u >> bytes & 0xf0) | c);
  return bytes;
}

#define CHARACTERS_AT_ONCE 32

/* Of `count` characters of so many bytes each. Those that do not fit are left out. */
static bool encode_all(const struct lm_python_reader *reader, uintptr_t at, size_t width,
                       size_t count, char *text, size_t capacity, size_t *bytes) {
  uint8_t buffer[CHARACTERS_AT_ONCE * sizeof(uint32_t)];
  for (*bytes = 0; count != 0;) {
    size_t now = lm_min(count, CHARACTERS_AT_ONCE);
    const uint8_t *part = lm_python_view(reader, at, buffer, now * width);
    if (part == NULL) return false;
    for (size_t i = 0; i < now && *bytes + 4 <= capacity; i++) {
      uint32_t c = 0;
      memcpy(&c, part + i * width, width); /* the lower byte comes first */
      *bytes += encode(c, text + *bytes);
    }
    at += now * width;
    count -= now;
  }
  return true;
}

const char *lm_python_view_text(const struct lm_python_reader *reader, uintptr_t object,
                                char *buffer, size_t capacity, size_t *bytes) {
  const struct lm_python *python = reader->python;
  struct python_object copy;
  const struct python_object *head = view_object(reader, object, python->text_type, &copy);
  if (head == NULL) return NULL;
  size_t width = head->text.state >> 2 & 7, length = (size_t)head->length;
  bool compact = (head->text.state >> 5 & 1) != 0, ascii = (head->text.state >> 6 & 1) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4)) return NULL;
  uintptr_t at = object + (ascii ? python->layout->text_bytes : python->layout->wide_text_bytes);
  size_t count = lm_min(length, ascii ? capacity : capacity / 4);
  at += (length - count) * width;
  *bytes = count;
  if (ascii) return lm_python_view(reader, at, buffer, count);
  return encode_all(reader, at, width, count, buffer, capacity, bytes) ? buffer : NULL;
}

/* ---- Lines ---- */

#define TABLE_MAX_BYTES (1 << 20)

struct table {
  const struct lm_python_reader *reader;
  uintptr_t next, end; /* of what has not been read */
  size_t at, count;    /* in what has */
  bool bad;
  const uint8_t *bytes;
  uint8_t buffer[128];
};

static bool begin_table(struct table *table, const struct lm_python_reader *reader,
                        uintptr_t address) {
  struct python_object copy;
  const struct python_object *object =
      view_object(reader, address, reader->python->bytes_type, &copy);
  if (object == NULL || object->length > TABLE_MAX_BYTES) return false;
  table->reader = reader;
  table->next = address + offsetof(struct python_object, bytes[1]);
  table->end = table->next + (uintptr_t)object->length;
  table->at = table->count = 0;
  table->bad = false;
  return true;
}

static bool has_more(const struct table *table) {
  return !table->bad && (table->at < table->count || table->next < table->end);
}

static uint8_t take_table_byte(struct table *table) {
  if (table->at == table->count) {
    size_t count = lm_min(sizeof table->buffer, table->end - table->next);
    table->bytes = lm_python_view(table->reader, table->next, table->buffer, count);
    table->bad |= count == 0 || table->bytes == NULL;
    if (table->bad) return 0;
    table->next += count;
    table->at = 0;
    table->count = count;
  }
  return table->bytes[table->at++];
}

static int64_t line_by_pairs(struct table *table, int64_t offset, int64_t line) {
  for (int64_t at = 0; has_more(table);) {
    at += take_table_byte(table);
    int8_t lines = (int8_t)take_table_byte(table);
    if (at > offset) break;
    line += lines;
  }
  return line;
}

static int64_t line_by_ranges(struct table *table, int64_t offset, int64_t line) {
  for (int64_t end = 0; end <= offset && has_more(table);) {
    end += take_table_byte(table);
    int8_t lines = (int8_t)take_table_byte(table);
    if (lines != INT8_MIN) line += lines; /* else these instructions are of no line */
  }
  return line;
}

/* Six bits a byte, the lowest first; the lowest of all is the sign. */
static int64_t take_signed_lines(struct table *table) {
  uint64_t value = 0;
  uint8_t byte = 0x40;
  for (unsigned shift = 0; (byte & 0x40) != 0 && shift < 36; shift += 6) {
    byte = take_table_byte(table);
    value |= (uint64_t)(byte & 0x3f) << shift;
  }
  return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { LOCATION_LINE_0 = 10, LOCATION_LINE_2 = 12, LOCATION_LINE_ONLY = 13, LOCATION_LONG = 14 };

/* An entry begins with a byte whose highest bit is set. */
static int64_t line_by_locations(struct table *table, int64_t offset, int64_t line) {
  int64_t end = 0;
  uint8_t byte = take_table_byte(table);
  while (!table->bad) {
    unsigned kind = byte >> 3 & 15;
    end += 2 * ((byte & 7) + 1);
    if (kind >= LOCATION_LINE_0 && kind <= LOCATION_LINE_2) line += kind - LOCATION_LINE_0;
    if (kind == LOCATION_LINE_ONLY || kind == LOCATION_LONG) line += take_signed_lines(table);
    if (end > offset || !has_more(table)) break;
    do byte = take_table_byte(table);
    while ((byte & 0x80) == 0 && has_more(table));
  }
  return line;
}

bool lm_python_find_line(const struct lm_python_reader *reader, uintptr_t address,
                         int64_t offset, uint32_t first_line, uint32_t *line) {
  struct table table;
  int64_t found = first_line;
  if (!begin_table(&table, reader, address)) return false;
  /* Before the first instruction of all: it has just been called. */
  if (offset >= 0 && has_more(&table)) {
    switch (reader->python->layout->table) {
    case LM_PYTHON_PAIRS: found = line_by_pairs(&table, offset, found); break;
    case LM_PYTHON_RANGES: found = line_by_ranges(&table, offset, found); break;
    default: found = line_by_locations(&table, offset, found);
    }
  }
  *line = found > 0 && found <= INT32_MAX ? (uint32_t)found : first_line;
  return !table.bad;
}

#endif
