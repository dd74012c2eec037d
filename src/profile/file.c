#include "profile/file.h"

#include "base/format.h"
#include "os/os.h"
#include "profile/chance.h"
#include "profile/python.h"
#include "profile/samples.h"

#if defined(__linux__)

uint64_t lm_profile_process_start_ms;

#define PART_BYTES 8192
#define LINE_MAX_BYTES 3072 /* of any line: the longest are those of sites */
_Static_assert(LINE_MAX_BYTES > 192 + LM_SITE_DEPTH * 19, "a line has room for its addresses");

struct profile_output {
  struct lm_text text;
  uint64_t checksum; /* of what has been written */
  int fd, error;     /* nothing is written behind an error */
};

/* FNV-1a of 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static void write_part(struct profile_output *output) {
  for (size_t i = 0; i < output->text.length; i++)
    output->checksum = (output->checksum ^ (unsigned char)output->text.bytes[i]) * FNV_PRIME;
  if (output->error == 0)
    output->error = lm_os_write(output->fd, output->text.bytes, output->text.length);
  output->text.length = 0;
}

static void begin_text_line(struct profile_output *output, const char *word) {
  if (output->text.length > PART_BYTES - LINE_MAX_BYTES) write_part(output);
  lm_text_string(&output->text, word);
}

static void print_number(struct profile_output *output, uint64_t number) {
  lm_text_char(&output->text, ' ');
  lm_text_number(&output->text, number);
}

static void print_address(struct profile_output *output, uintptr_t address) {
  lm_text_char(&output->text, ' ');
  lm_text_address(&output->text, address);
}

static void print_chance(struct profile_output *output, const struct lm_profile_sum *sum) {
  print_number(output, sum->sample_count);
  print_number(output, lm_chance_deviation(sum->variance));
}

static void end_text_line(struct profile_output *output) { lm_text_char(&output->text, '\n'); }

static void print_profile_sum(struct profile_output *output, const struct lm_profile_sum *sum) {
  print_number(output, (sum->count + LM_PROFILE_COUNT_UNIT / 2) / LM_PROFILE_COUNT_UNIT);
  print_number(output, sum->bytes);
}

static void print_line_of_number(struct profile_output *output, const char *word, uint64_t number) {
  begin_text_line(output, word);
  print_number(output, number);
  end_text_line(output);
}

static void print_profile_head(struct profile_output *output, uint64_t bytes) {
  char name[64];
  lm_os_process_name(name, sizeof name);
  print_line_of_number(output, "loam-profile", 1);
  begin_text_line(output, "process");
  print_number(output, lm_os_process_id());
  lm_text_char(&output->text, ' ');
  /* A name is the process's own to choose, and the line ends behind it. */
  for (const char *c = name; *c != 0; c++) lm_text_char(&output->text, *c < ' ' ? '?' : *c);
  end_text_line(output);
  if (lm_profile_process_start_ms != 0)
    print_line_of_number(output, "age", lm_os_clock_ms() - lm_profile_process_start_ms);
  print_line_of_number(output, "sample_bytes", bytes);
}

static void print_build_id(struct profile_output *output, const struct lm_os_module *module) {
  lm_text_char(&output->text, ' ');
  if (module->build_id_bytes == 0) lm_text_char(&output->text, '-');
  for (size_t i = 0; i < module->build_id_bytes; i++) {
    lm_text_char(&output->text, "0123456789abcdef"[module->build_id[i] >> 4]);
    lm_text_char(&output->text, "0123456789abcdef"[module->build_id[i] & 15]);
  }
}

static bool print_module(void *context, const struct lm_os_mapping *mapping) {
  struct profile_output *output = context;
  struct lm_os_module module;
  if (mapping->path[0] == 0 || !lm_os_read_module(mapping->module_start, &module)) return true;
  begin_text_line(output, "module");
  print_address(output, mapping->start);
  print_address(output, mapping->end);
  print_address(output, module.bias);
  print_build_id(output, &module);
  lm_text_char(&output->text, ' ');
  lm_text_string(&output->text, mapping->path);
  end_text_line(output);
  return true;
}

static void print_totals(struct profile_output *output) {
  begin_text_line(output, "total");
  print_profile_sum(output, &lm_profile_totals.taken);
  print_profile_sum(output, &lm_profile_totals.live);
  print_profile_sum(output, &lm_profile_totals.peak);
  print_number(output, lm_profile_totals.taken.sample_count);
  print_number(output, lm_profile_totals.lost_count);
  end_text_line(output);
}

static void print_site(struct profile_output *output, const struct lm_profile_site *site) {
  struct lm_profile_sum peak = lm_profile_at_peak(site);
  begin_text_line(output, "site");
  print_number(output, site->number);
  print_profile_sum(output, &site->taken);
  print_profile_sum(output, &site->live);
  print_profile_sum(output, &peak);
  print_number(output, site->taken.sample_count);
  for (size_t i = 0; i < site->depth; i++) print_address(output, site->callers[i]);
  end_text_line(output);
  begin_text_line(output, "chance");
  print_number(output, site->number);
  print_chance(output, &site->taken);
  print_chance(output, &site->live);
  print_chance(output, &peak);
  end_text_line(output);
}

/* A name may have any character; those that would end the line are left out. */
static void print_name(struct profile_output *output, const char *name, size_t bytes) {
  lm_text_char(&output->text, ' ');
  for (size_t i = 0; i < bytes; i++)
    lm_text_char(&output->text, (uint8_t)name[i] < ' ' ? '?' : name[i]);
}

static void print_python_line(struct profile_output *output, const struct lm_python_line *line) {
  begin_text_line(output, "line");
  print_number(output, line->number);
  print_number(output, line->line);
  print_number(output, line->function_line);
  print_number(output, line->function_bytes);
  print_name(output, line->texts, line->function_bytes);
  print_name(output, line->texts + line->function_bytes, line->file_bytes);
  end_text_line(output);
}

struct block_printer {
  struct profile_output *output;
  uint64_t now_ms;
};

static void print_block(void *context, const struct lm_profile_sample *sample) {
  const struct block_printer *printer = context;
  struct profile_output *output = printer->output;
  begin_text_line(output, "block");
  print_number(output, sample->site->number);
  print_address(output, (uintptr_t)sample->block);
  print_number(output, sample->bytes);
  print_number(output, sample->weighted_bytes);
  print_number(output, printer->now_ms - sample->taken_ms);
  end_text_line(output);
}

int lm_profile_print(int fd, uint64_t bytes) {
  char part[PART_BYTES];
  struct profile_output output = {{part, sizeof part, 0}, FNV_BEGIN, fd, 0};
  struct block_printer printer = {&output, lm_os_clock_ms()};
  print_profile_head(&output, bytes);
  lm_os_visit_code(print_module, &output);
  lm_lock_take(&lm_profile_lock);
  print_totals(&output);
  for (const struct lm_python_line *line = lm_load_relaxed(&lm_python_lines); line != NULL;
       line = line->next_made)
    print_python_line(&output, line);
  for (const struct lm_profile_site *site = lm_load_relaxed(&lm_profile_sites); site != NULL;
       site = site->next_made)
    print_site(&output, site);
  lm_profile_visit(print_block, &printer);
  lm_lock_free(&lm_profile_lock);
  write_part(&output);
  print_line_of_number(&output, "end", output.checksum);
  write_part(&output);
  return output.error;
}

#endif
