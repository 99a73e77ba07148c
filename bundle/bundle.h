// The bundle: what the compiler hands to the runtime, and the file OUT.dvt. It holds everything a run needs (programs,
// constants, memory plan) and nothing of the compiler: host steps are loop programs, accelerator steps are instruction
// streams with a DRAM image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/verify.h"
#include "loops/ir.h"

namespace dovetail::bundle {

// A tensor of the run: graph input, constant, intermediate or output. Packed tensors (accelerator layouts) are tensors
// like any other.
struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::optional<NdArray> constant;
};
using TensorIndex = std::int32_t;

// A loop program run on the host. `arguments`: its inputs and constants in parameter order; `results`: its outputs.
struct HostStep {
  std::string name;                  // the node, or "relayout X"
  std::vector<std::string> origins;  // imported node names it stands for; empty for relayouts
  loops::Program program;
  std::vector<TensorIndex> arguments, results;
};

// Where a tensor lies in the accelerator's memory while a step runs. Bytes are copied as they are.
struct Binding {
  TensorIndex tensor = -1;
  std::uint64_t address = 0;  // physical
};
// A contiguous piece of the initial memory image: constants, micro-ops, borders of zero points, the instructions
// themselves.
struct Segment {
  std::string name;  // "weights conv1", "uops", "program"
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};
// Which instructions stand for which imported nodes: [begin, end), in order, covering the program.
struct InstructionRange {
  std::size_t begin = 0, end = 0;
  std::string name;
  std::vector<std::string> origins;
};
// One region of the graph on the accelerator: the image is laid out, inputs are copied in, the launches run, outputs
// are copied out.
struct AccelStep {
  std::string name;
  isa::HardwareConfig config;
  std::uint64_t dram_base = 0, dram_bytes = 0;
  std::vector<Segment> segments;
  std::uint64_t program_base = 0;  // physical address of the instructions (also a segment)
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  std::vector<Binding> inputs, outputs;
  std::vector<InstructionRange> ranges;
  std::uint64_t uops = 0;  // micro-ops in the image
};
using Step = std::variant<HostStep, AccelStep>;

struct Bundle {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorIndex> inputs, outputs;
  std::vector<Step> steps;  // in execution order
  Json report;              // compile report: nodes, targets, reasons (docs/architecture.md, "compile report")
};

// OUT.dvt: magic "DOVETAIL", version, a JSON manifest and one binary blob per constant, segment and program. Reading
// checks everything.
std::vector<std::byte> serialize(const Bundle& bundle);
Result<Bundle> parse(std::span<const std::byte> bytes, std::string_view where);
Result<Bundle> read_bundle(const std::filesystem::path& path);
Result<void> write_bundle(const std::filesystem::path& path, const Bundle& bundle);

// Indices in range, types of programs and tensors agree, every tensor defined before use, segments and bindings inside
// the memory and disjoint.
Result<void> verify(const Bundle& bundle);

}  // namespace dovetail::bundle
