// The findings of one verification: ordered, bounded, without duplicates; and their texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/clock.h"
#include "isa/verify/token_faults.h"

namespace dovetail::isa {

// Keeps the first max_findings in the order (instruction, kind, other, place), whatever the order of insertion.
class FindingSet {
 public:
  explicit FindingSet(std::size_t max_findings) : max_findings_(max_findings) {}

  // False: a finding at `instruction` would be beyond max_findings. It is counted; its text is not needed.
  bool admit(std::size_t instruction);
  // Precondition: admit(finding.instruction). A duplicate finding, from a launch that is repeated, is dropped.
  void add(Finding finding);
  VerifyReport report() &&;

 private:
  struct Before {
    bool operator()(const Finding& a, const Finding& b) const;
  };
  std::size_t max_findings_;
  std::size_t suppressed_ = 0;
  std::set<Finding, Before> findings_;
};

// "#3 `gemm ...`"; instruction indices count from the beginning of the program.
std::string cite(std::span<const Instruction> program, std::size_t instruction);
// "inp[0..15]", "inp[3], inp[8..9] and 2 more ranges", "DRAM bytes 0x40..0x7f"; both ends belong to the range.
std::string describe(std::optional<Memory> memory, std::span<const Extent> extents);

Finding illegal_finding(std::span<const Instruction> program, std::size_t instruction, std::string why,
                        std::string hint);
Finding race_finding(std::span<const Instruction> program, std::size_t a, std::size_t b, std::optional<Memory> memory,
                     Conflict conflict);
Finding undefined_finding(std::span<const Instruction> program, std::size_t instruction, Memory memory,
                          std::vector<Extent> extents);
Finding token_finding(TokenFault fault);
// `fetched`: the bytes belong to instruction `victim`; otherwise to the LOAD UOP `victim`.
Finding uop_overwrite_finding(std::span<const Instruction> program, std::size_t store, std::size_t victim, bool fetched,
                              std::vector<Extent> extents);

}  // namespace dovetail::isa
