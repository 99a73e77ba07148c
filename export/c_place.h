// Names and places of a plan in C.
#pragma once

#include <string>
#include <string_view>

#include "export/plan.h"

namespace dovetail::exporting {

// "NET_ARENA_BYTES"
std::string macro(const Plan& plan, std::string_view name);

// A pointer to the elements, in the run function. Its variables: inputs, outputs, memory (the arena), device (the
// accelerator's memory).
std::string place_text(const Plan& plan, const Place& place);

}  // namespace dovetail::exporting
