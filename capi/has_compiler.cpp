#include "capi/include/dovetail.h"

extern "C" int32_t dvt_has_compiler(void) { return DOVETAIL_HAS_COMPILER; }
