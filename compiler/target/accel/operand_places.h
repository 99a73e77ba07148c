// The addresses of the operands of an operation's programs in a region's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/memory_image.h"

namespace dovetail::accel {

using Places = DramPlaces;

// The places for each of operation_programs(), in their order. Constants are added to the image. A program without a
// place for "Y" writes the operation's result.
std::vector<Places> operand_places(const Operation& operation, MemoryImage& image);

}  // namespace dovetail::accel
