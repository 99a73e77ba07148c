// The default schedules, one function per kind of anchor. Each writes a trace into the builder and says whether it
// knows the group; refusals of steps are in the builder's schedule status.
#pragma once

#include "compiler/target/cpu/schedules/register_tile.h"

namespace dovetail::cpu {

bool schedule_convolution(
    Builder& b);  // dense 2-D convolution, float32: register tiles over columns of one row and output channels
bool schedule_window(Builder& b);   // depthwise convolution and pooling: channels in lanes
bool schedule_matmul(Builder& b);   // float32 matrix products
bool schedule_generic(Builder& b);  // anything

}  // namespace dovetail::cpu
