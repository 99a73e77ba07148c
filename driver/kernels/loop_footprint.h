// The memory that the iterations of a program's loops access.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "loops/ir.h"

namespace dovetail::driver {

// By loop: the bytes of all buffers that one iteration of it accesses, its first one. Each buffer counts as the box
// around its accesses by all blocks inside; an index that depends on data counts as the whole dimension.
std::map<std::string, std::uint64_t> loop_footprints(const loops::Program& program);

}  // namespace dovetail::driver
