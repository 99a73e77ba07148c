// STOREs that reach what must stay constant: the bytes of micro-ops that are loaded, and the program's own encoding.
#pragma once

#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/findings.h"

namespace dovetail::isa {

// `launches` lie within the program. Any order of STORE and reader is a finding: were the micro-ops data, no static
// statement would hold.
void find_uop_overwrites(const HardwareConfig& config, std::span<const Instruction> program,
                         std::span<const Launch> launches, std::optional<std::uint64_t> program_base,
                         FindingSet& findings);

}  // namespace dovetail::isa
