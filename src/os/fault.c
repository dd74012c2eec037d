#include "os/fault.h"

#if LM_FAKE_OS
_Atomic(long) lm_fault_countdown = -1;
_Atomic(long) lm_fault_more = 0;
_Atomic(long) lm_fault_points = 0;
_Atomic(uint64_t) lm_fault_clock_ms = 0;
#endif
