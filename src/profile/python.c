#include "profile/python.h"

#include <string.h>

#include "base/bits.h"
#include "pages/meta.h"
#include "profile/python_code.h"
#include "profile/samples.h"

_Atomic(struct lm_python_line *) lm_python_lines;

#if LM_READS_PYTHON

/* ---- Lines that are known ---- */

/* What a frame is at, read out of its code object. */
struct python_place {
  uintptr_t code, table;
  int64_t offset; /* of the instruction */
  uint32_t line, function_line;
  const char *function, *file;
  size_t function_bytes, file_bytes;
  char function_buffer[LM_PYTHON_FUNCTION_MAX_BYTES], file_buffer[LM_PYTHON_FILE_MAX_BYTES];
};

#define LINE_BUCKET_BITS 12
#define INSTRUCTION_BITS 10
static struct lm_python_line *lines_by_text[1 << LINE_BUCKET_BITS];
static uint32_t line_count;

/* What an instruction has turned out to be. Under lm_profile_lock, as all of this. */
static struct python_instruction {
  uintptr_t code, table;
  int64_t offset;
  struct lm_python_line *line;
} instructions[1 << INSTRUCTION_BITS];

static bool has_texts(const struct lm_python_line *line, const struct python_place *place) {
  return line->function_line == place->function_line &&
         line->function_bytes == place->function_bytes && line->file_bytes == place->file_bytes &&
         memcmp(line->texts, place->function, place->function_bytes) == 0 &&
         memcmp(line->texts + line->function_bytes, place->file, place->file_bytes) == 0;
}

static struct lm_python_line *make_python_line(struct lm_python_line **bucket,
                                               const struct python_place *place) {
  struct lm_python_line *line = NULL;
  size_t bytes = sizeof *line + place->function_bytes + place->file_bytes;
  if (line_count < LM_PYTHON_LINES_MAX) line = lm_meta_take(bytes);
  if (line == NULL) return NULL;
  line->number = ++line_count;
  line->line = place->line;
  line->function_line = place->function_line;
  line->function_bytes = (uint32_t)place->function_bytes;
  line->file_bytes = (uint32_t)place->file_bytes;
  memcpy(line->texts, place->function, place->function_bytes);
  memcpy(line->texts + place->function_bytes, place->file, place->file_bytes);
  line->next = *bucket;
  *bucket = line;
  line->next_made = lm_load_relaxed(&lm_python_lines);
  lm_store_release(&lm_python_lines, line);
  return line;
}

static uint64_t mix_text(uint64_t mixed, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) mixed = (mixed ^ (uint8_t)text[i]) * 0x100000001b3u;
  return mixed;
}

static struct lm_python_line *find_python_line(const struct python_place *place) {
  uint64_t mixed = mix_text(place->line, place->function, place->function_bytes);
  mixed = mix_text(mixed, place->file, place->file_bytes);
  struct lm_python_line **bucket = &lines_by_text[lm_hash(mixed, LINE_BUCKET_BITS)];
  for (struct lm_python_line *line = *bucket; line != NULL; line = line->next)
    if (line->line == place->line && has_texts(line, place)) return line;
  return make_python_line(bucket, place);
}

static struct python_instruction *instruction_of(const struct python_place *place) {
  uint64_t mixed = place->code ^ (uint64_t)place->offset << 4;
  return &instructions[lm_hash(mixed, INSTRUCTION_BITS)];
}

/* Another code object may be where one was: it is the same one if it has the same texts, the same
 * first line, and its table where that was. */
static struct lm_python_line *line_of_known(const struct python_place *place) {
  const struct python_instruction *known = instruction_of(place);
  bool same = known->line != NULL && known->code == place->code &&
              known->table == place->table && known->offset == place->offset &&
              has_texts(known->line, place);
  return same ? known->line : NULL;
}

/* ---- Frames ---- */

#define FRAME_MAX_BYTES 108
#define CODE_MAX_BYTES 144
#define OWNER_IS_EVALUATOR 3

struct python_frame {
  uintptr_t code, place;
  bool entry;
};

static uintptr_t python_word_at(const uint8_t *bytes, size_t offset) {
  uintptr_t word;
  memcpy(&word, bytes + offset, sizeof word);
  return word;
}

static bool read_python_word(const struct lm_python_reader *reader, uintptr_t address,
                      uintptr_t *word) {
  const uintptr_t *there = lm_python_view(reader, address, word, sizeof *word);
  if (there != NULL) *word = *there;
  return there != NULL;
}

static bool innermost_frame(const struct lm_python_reader *reader, uintptr_t thread,
                            uintptr_t *frame) {
  const struct lm_python_layout *layout = reader->python->layout;
  if (!read_python_word(reader, thread + layout->thread_frame, frame)) return false;
  if (layout->thread_innermost == LM_PYTHON_NO_FIELD || *frame == 0) return true;
  return read_python_word(reader, *frame + layout->thread_innermost, frame);
}

/* A place that is an index has four bytes. */
static uintptr_t place_in(const struct lm_python_layout *layout, const uint8_t *frame) {
  int32_t index;
  if (layout->code_start != LM_PYTHON_NO_FIELD) return python_word_at(frame, layout->frame_place);
  memcpy(&index, frame + layout->frame_place, sizeof index);
  return (uintptr_t)(intptr_t)index;
}

/* Of no function: there for the call of the evaluator, as the outermost frame of it. */
static bool is_evaluators_own(const struct lm_python_layout *layout, const uint8_t *frame) {
  return layout->frame_owner != LM_PYTHON_NO_FIELD &&
         frame[layout->frame_owner] == OWNER_IS_EVALUATOR;
}

/* Whether the evaluator was called for it; for each, where no field says so. */
static bool is_entry(const struct lm_python_layout *layout, const uint8_t *frame) {
  if (layout->frame_entry != LM_PYTHON_NO_FIELD) return frame[layout->frame_entry] != 0;
  return layout->frame_owner == LM_PYTHON_NO_FIELD;
}

/* The frames from the innermost one on. False if one of them cannot be read. */
static bool collect_frames(const struct lm_python_reader *reader, uintptr_t frame,
                           struct python_frame *frames, size_t *count) {
  const struct lm_python_layout *layout = reader->python->layout;
  uint8_t buffer[FRAME_MAX_BYTES];
  *count = 0;
  for (size_t i = 0; frame != 0 && i < 2 * LM_PYTHON_DEPTH && *count < LM_PYTHON_DEPTH; i++) {
    const uint8_t *bytes = lm_python_view(reader, frame, buffer, layout->frame_bytes);
    if (frame % sizeof(uintptr_t) != 0 || bytes == NULL) return false;
    frame = python_word_at(bytes, layout->frame_back);
    if (is_evaluators_own(layout, bytes)) {
      if (*count != 0) frames[*count - 1].entry = true;
      continue;
    }
    bool entry = frame == 0 || is_entry(layout, bytes);
    frames[(*count)++] = (struct python_frame){python_word_at(bytes, layout->frame_code),
                                               place_in(layout, bytes), entry};
  }
  return true;
}

static bool read_place(const struct lm_python_reader *reader, const struct python_frame *frame,
                       struct python_place *place) {
  const struct lm_python_layout *layout = reader->python->layout;
  uint8_t buffer[CODE_MAX_BYTES];
  const uint8_t *bytes = lm_python_view(reader, frame->code, buffer, layout->code_bytes);
  if (frame->code % sizeof(uintptr_t) != 0 || bytes == NULL ||
      python_word_at(bytes, sizeof(uintptr_t)) != reader->python->code_type)
    return false;
  place->code = frame->code;
  place->table = python_word_at(bytes, layout->code_table);
  memcpy(&place->function_line, bytes + layout->code_first_line, sizeof place->function_line);
  place->offset = layout->code_start == LM_PYTHON_NO_FIELD
                      ? (int64_t)frame->place * layout->place_unit
                      : (int64_t)(frame->place - frame->code - layout->code_start);
  uintptr_t name = python_word_at(bytes, layout->code_name);
  uintptr_t file = python_word_at(bytes, layout->code_file);
  place->function = lm_python_view_text(reader, name, place->function_buffer,
                                        sizeof place->function_buffer, &place->function_bytes);
  place->file = lm_python_view_text(reader, file, place->file_buffer, sizeof place->file_buffer,
                                    &place->file_bytes);
  return place->function != NULL && place->file != NULL;
}

/* The lock is held. False if the code object cannot be read; a line that there is no room for is
 * NULL. */
static bool line_of_frame(const struct lm_python_reader *reader, const struct python_frame *frame,
                          struct lm_python_line **line) {
  struct python_place place;
  if (!read_place(reader, frame, &place)) return false;
  *line = line_of_known(&place);
  if (LM_LIKELY(*line != NULL)) return true;
  if (!lm_python_find_line(reader, place.table, place.offset, place.function_line, &place.line))
    return false;
  *line = find_python_line(&place);
  *instruction_of(&place) =
      (struct python_instruction){place.code, place.table, place.offset, *line};
  return true;
}

/* Up to the first one that cannot be read: then false. */
static bool name_frames(const struct lm_python_reader *reader, const struct python_frame *frames,
                        size_t count, uintptr_t *lines, size_t *found) {
  bool good = true;
  *found = 0;
  lm_lock_take(&lm_profile_lock);
  for (size_t i = 0; good && i < count; i++) {
    struct lm_python_line *line = NULL;
    good = line_of_frame(reader, &frames[i], &line);
    if (line == NULL) continue;
    lines[(*found)++] = LM_PYTHON_MARK | (frames[i].entry ? LM_PYTHON_ENTRY : 0) | line->number;
  }
  lm_lock_free(&lm_profile_lock);
  return good;
}

/* ---- Whom to believe ---- */

/* The interpreter is believed to be as the table of its version says once so many walks have made
 * sense, in which each read was checked; it is left alone when that many have made none before. */
#define PROOFS 8
#define DOUBTS_MAX 64
static _Atomic(uint32_t) proof_count, doubt_count;

static bool is_proven(void) { return lm_load_relaxed(&proof_count) >= PROOFS; }

static void note_walk(bool good, size_t count) {
  if (is_proven() || (good && count == 0)) return;
  lm_add_relaxed(good ? &proof_count : &doubt_count, 1);
}

/* The thread's state, if it has one. It holds the interpreter if it is the current one: then nobody
 * else changes or ends what its frames stand on. */
static uintptr_t state_of_thread(const struct lm_python *python, bool *holds) {
  struct lm_python_reader reader = {python, false};
  uintptr_t own = (uintptr_t)python->this_thread(), current = (uintptr_t)python->current();
  uintptr_t id = 0, current_id = 0;
  *holds = own != 0 && own == current;
  if (own == 0 || current == 0 || own == current) return own;
  /* The thread runs another interpreter of the process, or another thread runs one. */
  size_t offset = python->layout->thread_id;
  if (!read_python_word(&reader, own + offset, &id) ||
      !read_python_word(&reader, current + offset, &current_id) || id != current_id)
    return own;
  *holds = true;
  return current;
}

static bool leads_into(const struct lm_python *python, const uintptr_t *callers, size_t depth) {
  for (size_t i = 0; i < depth; i++)
    if (callers[i] >= python->code_start && callers[i] < python->code_end) return true;
  return false;
}

bool lm_python_is_here(void) {
  return lm_python_find() != NULL && lm_load_relaxed(&doubt_count) < DOUBTS_MAX;
}

size_t lm_python_walk(const uintptr_t *callers, size_t depth, bool whole, uintptr_t *lines) {
  const struct lm_python *python = lm_python_find();
  struct python_frame frames[LM_PYTHON_DEPTH];
  uintptr_t frame;
  size_t count = 0, found = 0;
  bool holds;
  if (!lm_python_is_here()) return 0;
  if (!leads_into(python, callers, depth) && (whole || !lm_python_is_there(python))) return 0;
  uintptr_t thread = state_of_thread(python, &holds);
  if (thread == 0) return 0;
  struct lm_python_reader reader = {python, holds && is_proven()};
  bool good = innermost_frame(&reader, thread, &frame) &&
              collect_frames(&reader, frame, frames, &count);
  if (count != 0) good &= name_frames(&reader, frames, count, lines, &found);
  note_walk(good, count);
  return found;
}

#else

bool lm_python_is_here(void) { return false; }

size_t lm_python_walk(const uintptr_t *callers, size_t depth, bool whole, uintptr_t *lines) {
  (void)callers, (void)depth, (void)whole, (void)lines;
  return 0;
}

#endif
