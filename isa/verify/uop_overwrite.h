// STOREs to bytes that must stay constant: loaded micro-ops, and the program's own encoding.
#pragma once

#include <span>

#include "isa/accelerators.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/findings.h"

namespace dovetail::isa {

// `launches` are within the program. A STORE and a reader in any order are a finding: if micro-ops were data, no static
// analysis would hold.
void find_uop_overwrites(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                         std::span<const Launch> launches, std::optional<std::uint64_t> program_base,
                         FindingSet& findings);

}  // namespace dovetail::isa
