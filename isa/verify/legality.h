// Legality that needs more than the instruction's own fields: micro-op indices, the memory image. Field-level rules are isa/legal.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/findings.h"
#include "isa/verify/uop_buffer.h"

namespace dovetail::isa {

// Reports every broken field rule and every transfer that leaves the image. False: the instruction's transfer or loop cannot be trusted, and
// what it touches is not to be examined.
bool check_static(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction,
                  const std::optional<DramImage>& image, FindingSet& findings);

// The micro-ops that `instruction` names are loaded, and no index reaches the depth of its memory, in full precision.
void check_indices(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction, const UopBuffer& uops,
                   FindingSet& findings);

}  // namespace dovetail::isa
