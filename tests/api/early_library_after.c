// builds: fast checking
// preload-after: early_allocation
/* A library preloaded after loam allocates in its constructor, before loam's own may have run. */
#include "early_library_before.c"
