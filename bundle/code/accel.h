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
#include "isa/accelerators.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::bundle {

inline constexpr std::string_view kAccelTarget = "accel";
extern const TargetFacts kAccelFacts;

// A contiguous range of the initial memory image: constants, micro-ops, padding filled with the zero point, or the
// instructions.
struct Segment {
  std::string name;  // "weights of conv1", "micro-ops", "program"
  std::uint64_t address = 0;
  Blob bytes;
};
// The part of an operation that one accelerator computes, where several divide it: [begin, end) of its pieces.
struct RangePart {
  std::string by;  // "images", "channels" (blocks of them, or heads), "rows", "columns", or "programs" of the operation
  std::int64_t begin = 0, end = 1;
  std::int64_t pieces = 1;  // of the operation
  bool operator==(const RangePart&) const = default;
};
// Maps instructions to imported nodes: [begin, end), in order, covering the program.
struct InstructionRange {
  std::size_t begin = 0, end = 0;
  std::string name;
  std::vector<std::string> origins;
  // The model's multiplications in this range, without padding, if known; if several ranges have one name, the first
  // one has the sum.
  std::optional<std::uint64_t> macs = std::nullopt;
  std::optional<RangePart> part = std::nullopt;  // absent: the whole operation
};

// The code of one region of the graph: launches that run on a memory with the segments and the arguments. Several steps
// may share one memory, which is initialized again for each run. All addresses are physical.
struct AccelCode {
  isa::HardwareConfig config;  // of the first accelerator; the same for all steps that share a memory
  SpaceIndex space = kHostSpace;
  std::vector<Segment> segments;
  std::uint64_t program_base = 0;  // address of the instructions (also a segment)
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  // The addresses at which the program reads the step's arguments, without that of `offset`, and writes its results.
  // Other arguments and results are copied unchanged.
  std::vector<std::uint64_t> argument_addresses, result_addresses;
  std::vector<InstructionRange> ranges;
  std::uint64_t uops = 0;  // number of micro-ops in the image
  // The register OFFSET: the number in the step's last argument, int64[1] in the host's memory, times `bytes`.
  struct Offset {
    std::uint64_t bytes = 0;
    std::int64_t most = 0;  // the largest number; the least is 0
  };
  std::optional<Offset> offset = {};
  // The configurations of all accelerators after the first, where they differ; the same for all steps, too.
  std::vector<isa::HardwareConfig> others = {};

  isa::AcceleratorConfigs configs() const { return {config, others}; }
};

// Precondition: the program can be encoded for the configurations.
void encode(const AccelCode& code, Step& step);
Result<AccelCode> decode_accel(const Step& step);

// The decoded steps. Checks that segments and tensors are inside the memory and disjoint, also across steps that share
// a memory, and that launches and ranges are inside the program, which must also be in the image. Precondition: the
// bundle verifies.
Result<std::vector<CodedStep<AccelCode>>> accel_steps(const Bundle& bundle);

// The rules that a step violates on its own, one sentence each. Precondition: the bundle verifies.
std::vector<std::string> verify_accel(const Bundle& bundle, const Step& step, const AccelCode& code);
// The rules that steps violate together: on a shared memory, segments and tensors of different steps must not overlap,
// except for a tensor that both have at one address. Precondition: each single step is valid.
std::vector<std::string> verify_shared_memory(const Bundle& bundle, const std::vector<CodedStep<AccelCode>>& steps);

// The contents of the memory before a step's first launch; tensors are zero. Precondition: the segments are inside the
// memory.
std::vector<std::byte> initial_image(const MemorySpace& memory, const AccelCode& code);

}  // namespace dovetail::bundle
