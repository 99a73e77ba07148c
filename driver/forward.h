// What runs graphs for calibration: machine code for this processor.
#pragma once

#include "compiler/quantize/quantize.h"

namespace dovetail::driver {

quantize::MakeForward compiled_forward();

}  // namespace dovetail::driver
