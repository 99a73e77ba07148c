// Legality rules of an instruction, judged from its fields alone: flags, micro-op range, pads, SRAM and DRAM ranges.
// Verifier and simulators share these rules; indices of GEMM and ALU depend on the micro-ops and are checked where
// those are known. Values that do not fit a field are the codec's errors.
#pragma once

#include <array>
#include <cstdint>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/memories.h"

namespace dovetail::isa {

// Built once per configuration, then cheap per instruction.
class LegalityRules {
 public:
  explicit LegalityRules(const HardwareConfig& config);  // precondition: validate(config)

  bool is_legal(const Instruction& instruction) const;
  // Every violated rule, with both numbers; the caller fills in `where`. Empty if and only if is_legal().
  Diagnostics check(const Instruction& instruction) const;

 private:
  // Calls report(describe) for each violation.
  template <typename Report>
  void visit_violations(const Instruction& instruction, Report&& report) const;
  template <typename Report>
  void visit_transfer(const Transfer& transfer, Opcode opcode, Report&& report) const;
  template <typename Report>
  void visit_loop(const UopLoop& loop, bool has_parameters, Report&& report) const;

  using ByMemory = std::array<std::uint64_t, spec::kMemories.size()>;

  ByMemory depth_{};          // in elements
  ByMemory dram_elements_{};  // 2^address_bits / element bytes
  ByMemory element_bytes_{};
  std::int64_t address_bits_ = 0;
};

Diagnostics check_instruction(const HardwareConfig& config, const Instruction& instruction);

}  // namespace dovetail::isa
