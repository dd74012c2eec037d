/* loam-run.exe as one compilation unit. scripts/windows.sh builds it. */
#include "base/format.c"

#include "redirect/inject_windows.c"
#include "redirect/run_windows.c"
