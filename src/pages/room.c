#include "pages/room.h"

#include "os/os.h"
#include "pages/mappings.h"
#include "pages/tags.h"

bool lm_room_make(void) {
  bool trimmed = lm_mappings_trim();
  lm_os_look_for_address_space_limit();
  if (lm_os_address_space_limit() == UINT64_MAX) return trimmed;
  return lm_tags_give_up() || trimmed;
}
