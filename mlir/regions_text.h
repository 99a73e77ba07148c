// The regions of a block as text, as loops/print.h writes them after `reads`.
#pragma once

#include <string>
#include <vector>

#include "loops/ir.h"

namespace dovetail::mlir {

std::string regions_text(const std::vector<loops::Region>& regions);

}  // namespace dovetail::mlir
