/* Which module an address is in, as the loader knows it. */
#ifndef LM_OS_LOADED_LINUX_H
#define LM_OS_LOADED_LINUX_H

#include "base/compiler.h"

/* glibc's, from 2.35 on, made for unwinding: no lock, no system call, nothing allocated. Under a
 * name of its own here, since not all headers have the type. */
struct loaded_object {
  unsigned long long flags;
  void *map_start, *map_end, *link_map;
  void *frame_table;
  unsigned long long more[16];
};
extern int find_loaded_object(void *pc, struct loaded_object *object)
    __asm__("_dl_find_object") LM_WEAK;

#endif
