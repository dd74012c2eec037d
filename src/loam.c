/* The whole allocator as one compilation unit, layer by layer. Each file also compiles alone. With
 * LM_SYSTEM_ALONE only what knows the system, for tools that need that of it. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "base/format.c"

#include "os/lock.c"
/* What all systems' files include stands outside of the condition, or one of them would have it for
 * itself in the one file that is made of all. */
#include "base/bits.h"
#include "os/fault.c"
#if !defined(__linux__)
#include "os/absent.c"
#endif
#if defined(_WIN32)
#include "os/group_windows.c"
#include "os/os_windows.c"
#elif !defined(__linux__)
#include "os/os_unix.c"
#else
#include "os/calls_linux.c"
#include "os/files_linux.c"
#include "os/fork_linux.c"
#include "os/frames_linux.c"
#include "os/group_linux.c"
#include "os/map_linux.c"
#include "os/os_linux.c"
#include "os/pages_linux.c"
#include "os/process_linux.c"
#include "os/random_linux.c"
#include "os/signals_linux.c"
#include "os/symbols_linux.c"
#include "os/threads_linux.c"
#include "os/unwind_linux.c"
#include "os/vdso_linux.c"
#endif
#include "os/misuse.c"
#include "os/panic.c"
#include "os/reason.c"

#if !defined(LM_SYSTEM_ALONE)

#include "config/options.c"
#include "config/sources.c"

#include "sizeclass/sizeclass.c"

#include "pages/block.c"

#include "pages/directory.c"
#include "pages/explicit.c"
#include "pages/huge.c"
#include "pages/mappings.c"
#include "pages/meta.c"
#include "pages/names.c"
#include "pages/pool.c"
#include "pages/pool_take.c"
#include "pages/pressure.c"
#include "pages/provider.c"
#include "pages/purge.c"
#include "pages/region_life.c"
#include "pages/region_map.c"
#include "pages/room.c"
#include "pages/runs.c"
#include "pages/tags.c"
#include "pages/valid.c"

#include "central/central.c"
#include "central/depot.c"
#include "central/holes.c"
#include "central/move.c"
#include "central/put.c"
#include "central/shared.c"
#include "central/span_life.c"
#include "central/spans.c"
#include "central/take.c"
#include "central/valid.c"

#include "thread/cache.c"
#include "thread/idle.c"
#include "thread/inspect.c"
#include "thread/lifetime.c"
#include "thread/lists.c"
#include "thread/tick.c"
#include "thread/valid.c"

#include "large/large.c"
#include "large/owned.c"

#include "profile/chance.h"
#include "profile/file.h"
#include "profile/python.h"
#include "profile/samples.h"
#if defined(__linux__)
#include "profile/chance.c"
#include "profile/file.c"
#include "profile/python.c"
#include "profile/python_code.c"
#include "profile/python_find.c"
#include "profile/samples.c"
#endif

#include "report/gather.c"
#include "report/lists.c"
#include "report/people.c"
#include "report/report.c"

#include "api/allocate.c"
#include "api/background.c"
#include "api/callbacks.c"
#include "api/checking.c"
#include "api/family.c"
#include "api/foreign.c"
#include "api/guarded.c"
#if defined(_WIN32)
#include "api/family_windows.c"
#include "api/foreign_windows.c"
#elif !defined(__linux__)
#include "api/foreign_none.c"
#else
#include "api/aside_linux.c"
#include "api/cxx.c"
#include "api/dlopen_linux.c"
#include "api/handles_linux.c"
#include "api/limits_linux.c"
#include "api/foreign_glibc.c"
#endif
#include "api/hardened.c"
#include "api/heaps.c"
#include "api/layout.c"
#include "api/locks.c"
#include "api/move.c"
#include "api/note.c"
#include "api/process.c"
#include "api/profile.c"
#include "api/sampled.c"
#include "api/sizeless.c"
#include "api/statistics.c"
#include "api/this_cache.c"

#endif
