// Races between accelerators: launches that begin together have no order, so none may write bytes of DRAM that another
// one reads or writes.
#pragma once

#include <span>
#include <vector>

#include "isa/accelerators.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/findings.h"

namespace dovetail::isa {

// Also finds launches that begin together on one accelerator. `launches` are within the program.
void find_races_together(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                         std::span<const Launch> launches, FindingSet& findings);

// The first findings alone. Precondition: instructions are legal.
std::vector<Finding> races_together(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                    std::span<const Launch> launches);

}  // namespace dovetail::isa
