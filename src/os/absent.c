/* What only Linux has, as other systems answer for it: hints are not taken, and what may be absent
 * is. */
#include <errno.h>

#include "os/os.h"

void lm_os_call_library(void) {}
void lm_os_make_few_calls(void) {}
bool lm_os_makes_few_calls(void) { return false; }

/* Large pages are asked for as explicit ones (Windows), or are the system's own matter. */
void lm_os_advise_huge(void *address, size_t size) { (void)address, (void)size; }
void lm_os_refuse_huge(void *address, size_t size) { (void)address, (void)size; }
void lm_os_leave_out_of_cores(void *address, size_t size) { (void)address, (void)size; }
void lm_os_name(void *address, size_t size, const char *name) {
  (void)address, (void)size, (void)name;
}
void lm_os_put_into_cores(void *address, size_t size) { (void)address, (void)size; }
void lm_os_accept_huge(void *address, size_t size) { (void)address, (void)size; }

/* Pages could be without access, but would not read as zero again, or be mappings of their own. */
int lm_os_guard(void *address, size_t size) {
  (void)address, (void)size;
  return ENOSYS;
}
void lm_os_unguard(void *address, size_t size) { (void)address, (void)size; }

int lm_os_move_pages(void *from, void *to, size_t size) {
  (void)from, (void)to, (void)size;
  return ENOSYS;
}

int lm_os_move_out(void *from, size_t size, size_t new_size, void **result) {
  (void)from, (void)size, (void)new_size, (void)result;
  return ENOSYS;
}
bool lm_os_would_map(size_t size) { return size != 0; } /* of what nobody moves */

void lm_os_thread_begins(void) {}
void lm_os_notice_copy(void) {}
bool lm_os_is_bare_copy(void) { return false; }
uint32_t lm_os_copy_number(void) { return lm_os_process_id(); }

void lm_os_read_address_space_limit(void) {} /* it is read each time */
void lm_os_look_for_address_space_limit(void) {}

bool lm_os_parent_has_environment(const char *name, const char *value) {
  return name == NULL && value == NULL; /* it is not told */
}

const char *lm_os_sanitizer(void) { return NULL; }
bool lm_os_serves(const char *name, const void *function) {
  return name != NULL && function != NULL;
}
bool lm_os_library_has_new(void) { return false; }
