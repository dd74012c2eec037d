#include "redirect/tables_windows.h"

#include "redirect/relay_windows.h"

struct change {
  void *from, *to;
};

/* One word, which others may read in that moment. */
static bool write_word(void *word, size_t size, uintptr_t value) {
  DWORD protection, ignored;
  if (!VirtualProtect(word, size, PAGE_READWRITE, &protection)) return false;
  if (size == sizeof(DWORD)) *(volatile DWORD *)word = (DWORD)value;
  else *(volatile uintptr_t *)word = value;
  VirtualProtect(word, size, protection, &ignored);
  return true;
}

static void change_slot(void *context, const char *library, const char *name, void **slot,
                        bool is_delayed) {
  const struct change *change = context;
  (void)library, (void)name, (void)is_delayed;
  if (*slot == change->from) write_word((void *)slot, sizeof *slot, (uintptr_t)change->to);
}

static void change_slots(void *context, const struct lm_module *module) {
  lm_image_visit_slots(&module->image, change_slot, context);
}

bool lm_tables_lead(const struct lm_image *exporter, const char *name, void *replacement) {
  DWORD *entry = lm_image_export(exporter, name);
  if (entry == NULL) return true;
  struct change change = {exporter->base + *entry, replacement};
  char *above = lm_relay_above(exporter->base, replacement);
  bool led = above != NULL &&
             write_word(entry, sizeof *entry, (uintptr_t)(above - exporter->base));
  lm_modules_visit(change_slots, &change);
  return led;
}
