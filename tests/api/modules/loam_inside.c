/* A plugin that has loam for itself, as one that vendors it does. */
#define LOAM_NO_OVERRIDE 1
#include "../../../src/loam.c"

__attribute__((visibility("default"))) void *plugin_take(size_t size) {
  return loam_malloc(size);
}
__attribute__((visibility("default"))) void plugin_give(void *block) { loam_free(block); }
