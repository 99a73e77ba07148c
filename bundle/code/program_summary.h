// Counts of a program's instructions by kind, as written (a simulator counts those executed).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/json.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"
#include "isa/instruction.h"

namespace dovetail::bundle {

// "load.inp", "load.uop", "store.out", "gemm", "gemm.reset", "alu.max", "nop", "finish". A transfer with x_size 0 is a
// "nop".
std::string kind_of(const isa::Instruction& instruction);

struct ProgramSummary {
  std::map<std::string, std::uint64_t> kinds;  // instructions by kind_of
  std::uint64_t instructions = 0;
  std::uint64_t tokens = 0;  // pushed
  std::uint64_t uops = 0;    // micro-ops in the image; 0 if only the program is known

  ProgramSummary& operator+=(const ProgramSummary& other);
};
ProgramSummary summarize(std::span<const isa::Instruction> program);
ProgramSummary summarize(const AccelCode& code);
ProgramSummary summarize(const Bundle& bundle);  // sum over its accelerator steps, whose code must be valid
Json to_json(const ProgramSummary& summary);

}  // namespace dovetail::bundle
