/* The whole allocator as one compilation unit, layer by layer. Each file also compiles alone. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "base/format.c"

#include "os/fork_linux.c"
#include "os/lock.c"
#include "os/os_linux.c"
#include "os/panic.c"

#include "config/options.c"

#include "sizeclass/sizeclass.c"

#include "pages/chunk.c"
#include "pages/meta.c"
#include "pages/pool.c"
#include "pages/purge.c"
#include "pages/region.c"
#include "pages/runs.c"
#include "pages/tags.c"

#include "heap/heap.c"
#include "heap/lifetime.c"
#include "heap/middle.c"
#include "heap/orphan.c"
#include "heap/remote.c"

#include "large/huge.c"
#include "large/large.c"

#include "report/report.c"

#include "api/allocate.c"
#include "api/checking.c"
#include "api/cxx.c"
#include "api/family.c"
#include "api/foreign.c"
#include "api/misuse.c"
#include "api/note.c"
#include "api/process.c"
