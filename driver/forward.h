// Runs graphs for calibration, as machine code for this processor.
#pragma once

#include "compiler/quantize/quantize.h"

namespace dovetail::driver {

quantize::MakeForward compiled_forward();

}  // namespace dovetail::driver
