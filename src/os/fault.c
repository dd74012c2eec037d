#include "os/fault.h"

#if LM_FAKE_OS
_Atomic(long) lm_fault_countdown = -1;
_Atomic(long) lm_fault_more = 0;
_Atomic(long) lm_fault_points = 0;
#endif
