// Legality checks that need more than the instruction's own fields: micro-op indices, the memory image. Field-level
// rules are in isa/legal.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/legal.h"
#include "isa/verify.h"
#include "isa/verify/findings.h"
#include "isa/verify/uop_buffer.h"

namespace dovetail::isa {

class StaticRules {
 public:
  StaticRules(const HardwareConfig& config, const std::optional<DramImage>& image);

  // Reports every violated field rule, and a transfer that exceeds the image. False: the fields cannot be trusted, and
  // the instruction's accesses must not be examined. (Wrong flags alone move no data.)
  bool check(std::span<const Instruction> program, std::size_t instruction, FindingSet& findings);

 private:
  void check_image(std::span<const Instruction> program, std::size_t instruction, FindingSet& findings) const;

  const HardwareConfig& config_;
  const std::optional<DramImage>& image_;
  LegalityRules rules_;
  Codec codec_;
  std::vector<std::byte> encoded_;  // scratch
};

// Checks that the micro-ops that `instruction` uses are loaded, and that no index reaches the depth of its memory, in
// full precision.
void check_indices(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction,
                   const UopBuffer& uops, FindingSet& findings);

}  // namespace dovetail::isa
