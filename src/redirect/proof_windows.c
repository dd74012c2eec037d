#include "redirect/proof_windows.h"

#include <string.h>

#include "api/family_windows.h"
#include "os/os.h"
#include "redirect/modules_windows.h"
#include "redirect/options_windows.h"
#include "redirect/runtimes_windows.h"

#define LINE_BYTES 2048

/* What one module imports, or a runtime exports. */
struct findings {
  const struct lm_module *module;
  struct lm_text led, escaped;
  uint32_t function_count, led_count;
  uint32_t heap_functions; /* of the system's heaps, which a runtime inside the module takes */
};

static void add_finding(struct findings *findings, const char *name, const char *library,
                const void *function) {
  bool leads = lm_leads_to_loam(function);
  struct lm_text *text = leads ? &findings->led : &findings->escaped;
  findings->function_count++;
  findings->led_count += leads;
  lm_text_char(text, ' ');
  lm_text_string(text, name);
  if (leads || library == NULL) return;
  lm_text_string(text, " of ");
  lm_text_string(text, library);
}

static void look_at_slot(void *context, const char *library, const char *name, void **slot,
                         bool is_delayed) {
  static const char *const of_heaps[] = {"HeapAlloc", "HeapReAlloc", "HeapFree", "HeapSize"};
  struct findings *findings = context;
  for (size_t i = 0; i < sizeof of_heaps / sizeof *of_heaps; i++)
    if (strcmp(name, of_heaps[i]) == 0) findings->heap_functions |= 1u << i;
  if (!lm_is_of_family(name)) return;
  if (is_delayed && lm_image_holds(&findings->module->image, *slot)) return; /* not looked up yet */
  add_finding(findings, name, library, *slot);
}

static void look_at_exports(struct findings *findings) {
  for (size_t i = 0; i < LM_WINDOWS_FAMILY_COUNT; i++) {
    const struct lm_image *image = &findings->module->image;
    const DWORD *entry = lm_image_export(image, lm_windows_family[i].name);
    if (entry != NULL) add_finding(findings, lm_windows_family[i].name, NULL, image->base + *entry);
  }
}

/* All four and no malloc of another's: what a program has that was linked with the runtime's
 * static library. Windows' own libraries have such heaps, and no malloc. */
static bool has_runtime_inside(const struct findings *findings) {
  return findings->heap_functions == 15 && findings->function_count == 0 &&
         !findings->module->is_systems;
}

static void print_findings(const struct findings *findings, const char *rest) {
  LM_TEXT(line, LINE_BYTES);
  lm_text_string(&line, "loam: ");
  lm_text_module(&line, findings->module);
  if (rest == NULL) {
    lm_text_string(&line, ": ");
    lm_text_number(&line, findings->led_count);
    lm_text_string(&line, " of ");
    lm_text_number(&line, findings->function_count);
    lm_text_string(&line, " functions lead to loam:");
    lm_text_span(&line, findings->led.bytes, findings->led.length);
    if (findings->escaped.length != 0) lm_text_string(&line, "; not:");
    lm_text_span(&line, findings->escaped.bytes, findings->escaped.length);
  } else lm_text_string(&line, rest);
  lm_text_char(&line, '\n');
  lm_os_write(2, line.bytes, line.length);
}

static void look_at_module(void *context, const struct lm_module *module) {
  struct lm_proof *proof = context;
  LM_TEXT(led, LINE_BYTES / 2);
  LM_TEXT(escaped, LINE_BYTES / 2 - 256);
  struct findings findings = {.module = module, .led = led, .escaped = escaped};
  if (lm_image_has_section(&module->image, ".loam")) {
    print_findings(&findings, " has loam inside");
    return;
  }
  if (lm_is_runtime(module)) look_at_exports(&findings);
  else lm_image_visit_slots(&module->image, look_at_slot, &findings);
  if (findings.function_count != 0) print_findings(&findings, NULL);
  proof->function_count += findings.function_count;
  proof->led_count += findings.led_count;
  proof->escape_count += findings.function_count - findings.led_count;
  if (!has_runtime_inside(&findings)) return;
  print_findings(&findings, " has a C runtime inside, whose malloc is not loam's");
  proof->escape_count++;
}

static void write_sum(const struct lm_proof *proof) {
  LM_TEXT(line, 256);
  lm_text_string(&line, "loam: ");
  lm_text_number(&line, proof->led_count);
  lm_text_string(&line, " of ");
  lm_text_number(&line, proof->function_count);
  lm_text_string(&line, " functions lead to loam, ");
  lm_text_number(&line, proof->escape_count);
  lm_text_string(&line, " escape\n");
  lm_os_write(2, line.bytes, line.length);
}

void lm_proof_write(void) {
  char name[LM_PROOF_NAME_LENGTH];
  struct lm_proof proof = {0}, *asked = NULL;
  lm_proof_name(GetCurrentProcessId(), name);
  HANDLE section = OpenFileMappingA(FILE_MAP_WRITE, FALSE, name);
  if (section != NULL) asked = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof *asked);
  if (asked == NULL && !lm_redirect_options.verify) return;
  lm_modules_visit(look_at_module, &proof);
  write_sum(&proof);
  proof.is_complete = 1;
  if (asked != NULL) *asked = proof;
}
