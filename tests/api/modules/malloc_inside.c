/* A plugin with an allocator inside that replaces malloc for whoever sees it, which nobody does. */
#include "../../../src/loam.c"

__attribute__((visibility("default"))) void *plugin_take(size_t size) {
  return loam_malloc(size);
}
__attribute__((visibility("default"))) void plugin_give(void *block) { loam_free(block); }
