// The code of a step that runs on the accelerator: an instruction stream, and the image of the memory that it works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"

namespace dovetail::bundle {

inline constexpr std::string_view kAccelTarget = "accel";
extern const TargetFacts kAccelFacts;

// A contiguous piece of the initial memory image: constants, micro-ops, borders of zero points, the instructions
// themselves.
struct Segment {
  std::string name;  // "weights of conv1", "micro-ops", "program"
  std::uint64_t address = 0;
  Blob bytes;
};
// Which instructions come from which imported nodes: [begin, end), in order, covering the program.
struct InstructionRange {
  std::size_t begin = 0, end = 0;
  std::string name;
  std::vector<std::string> origins;
  // The model's own multiplications, without those of padding, if they are known; of several ranges of one name, the
  // first has them all.
  std::optional<std::uint64_t> macs = std::nullopt;
};

// One region of the graph: the launches run on a memory in which the segments and the arguments lie. Several steps may
// work on one memory, which is laid out again for each run. All addresses are physical.
struct AccelCode {
  isa::HardwareConfig config;  // the same of all steps on one memory
  SpaceIndex space = kHostSpace;
  std::vector<Segment> segments;
  std::uint64_t program_base = 0;  // address of the instructions (also a segment)
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  // Where the program reads the step's arguments and writes its results. What lies elsewhere is copied as it is.
  std::vector<std::uint64_t> argument_addresses, result_addresses;
  std::vector<InstructionRange> ranges;
  std::uint64_t uops = 0;  // micro-ops in the image
};

// Precondition: the program can be encoded for the configuration.
void encode(const AccelCode& code, Step& step);
Result<AccelCode> decode_accel(const Step& step);

// Decoded and checked: segments and tensors inside the memory and disjoint, also those of several steps on one memory;
// launches and ranges inside the program, which the image holds too. Precondition: the bundle verifies.
Result<std::vector<CodedStep<AccelCode>>> accel_steps(const Bundle& bundle);

// Every rule that a step breaks by itself, as one sentence. Precondition: the bundle verifies.
std::vector<std::string> verify_accel(const Bundle& bundle, const Step& step, const AccelCode& code);
// The same of all steps together: on one memory, one's segments and tensors keep off another's, but for a tensor that
// both have at one address. Precondition: each step for itself is in order.
std::vector<std::string> verify_shared_memory(const Bundle& bundle, const std::vector<CodedStep<AccelCode>>& steps);

// The memory before the first launch of a step, the tensors still zero. Precondition: the segments lie inside.
std::vector<std::byte> initial_image(const MemorySpace& memory, const AccelCode& code);

}  // namespace dovetail::bundle
