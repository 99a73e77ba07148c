// The static verifier (docs/explanation/verify.md): races, deadlock, leftover tokens, undefined reads, illegal
// instructions. Exact, one pass.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/accelerators.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// Physical memory as the accelerator sees it: `bytes` starts at physical address `base`.
struct DramImage {
  std::uint64_t base = 0;
  std::span<const std::byte> bytes;
};

enum class FindingKind : std::uint8_t {
  illegal,  // a field, flag, index, address or bit pattern that the ISA forbids
  race,     // two instructions of different queues access the same bytes, at least one writes, and no token orders them
  deadlock,        // an instruction can never start (a missing push, or a full queue)
  leftover_token,  // pushed and never popped within the launch
  undefined_read,  // SRAM is read that no instruction wrote, or that is written only later
  uop_overwrite,   // a STORE reaches bytes that a LOAD UOP or the instruction fetch reads
};
std::string_view name(FindingKind kind);

// A half-open range of element indices in a memory, or of physical byte addresses.
struct Extent {
  std::uint64_t begin = 0, end = 0;
  auto operator<=>(const Extent&) const = default;
};

struct Finding {
  FindingKind kind;
  std::size_t instruction;           // the faulty one, or the later of a pair, in program order
  std::optional<std::size_t> other;  // the earlier of a pair
  bool possible = false;             // true if the micro-ops are unknown: the access may, not must, happen
  Diagnostic diagnostic;             // contains the disassembly of both instructions
  std::optional<Memory> memory;      // race, undefined_read: the memory; empty: DRAM
  std::vector<Extent>
      extents;  // the elements of `memory`, or bytes of DRAM; sorted, disjoint. Empty: unknown, or not applicable
};

struct VerifyOptions {
  std::span<const Launch> launches = {};  // empty: one launch of the whole program
  std::optional<DramImage> dram =
      std::nullopt;  // contains the micro-ops; without it GEMM and ALU may access any element
  std::optional<std::uint64_t> program_base = std::nullopt;  // address of the program in DRAM, if a STORE may reach it
  std::uint64_t offset = 0;                                  // the register OFFSET; precondition: check_offset()
  std::size_t max_findings = 64;  // in the order of instructions; further ones are counted, not described
};

struct VerifyReport {
  std::vector<Finding> findings;
  std::size_t suppressed = 0;  // findings beyond max_findings
  bool clean() const { return findings.empty() && suppressed == 0; }
};

// Cost: near-linear in the instructions and the SRAM elements and DRAM rows that they touch. docs/explanation/verify.md
// says why one pass is exact. A launch that deadlocks is the last one examined; later launches are checked for legality
// only.
// `configs`: of the launches' accelerators; they pass check_common().
VerifyReport verify(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                    const VerifyOptions& options);

}  // namespace dovetail::isa
