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
  // Where `shape` is not the model's: the index map from it, and the name of the value whose elements these are.
  std::string layout = {}, logical = {};
};
using TensorIndex = std::int32_t;

// A loop program run on the host. `arguments`: its inputs and constants in parameter order; `results`: its outputs.
struct HostStep {
  std::string name;                  // the node, or "relayout X"
  std::vector<std::string> origins;  // imported node names it stands for; empty for relayouts
  loops::Program program;
  std::vector<TensorIndex> arguments, results;
};

// A compiled kernel run on the CPU: a function of the bundle's shared object.
struct CpuStep {
  std::string name;                  // of the node that gives the group its name, or "relayout X"
  std::vector<std::string> origins;  // imported node names that the kernel stands for; empty for relayouts
  std::string symbol;                // of type Kernel (bundle/kernel_abi.h)
  std::vector<TensorIndex> arguments, results;  // the kernel's buffers in this order
  std::uint64_t shared_bytes = 0;    // workspace of the kernel
  std::uint64_t local_bytes = 0;     // workspace of each thread
  std::uint64_t operations = 0;      // arithmetic operations of the nodes, a multiply-add counted as two
  bool integer = false;              // most of them on integers
  std::uint64_t code_bytes = 0;      // machine instructions of the kernel
  std::vector<std::string> failures;  // by site
};
// The kernels of all CPU steps: an ELF shared object without undefined symbols.
struct CpuLibrary {
  std::string processor;             // the class it is made for (base/processor.h)
  std::vector<std::byte> object;
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
// A region for a device that the kit does not know: code of a back end of the user's, run by whoever the runtime is given for that device
// (runtime/device.h).
struct ExternStep {
  std::string name;
  std::vector<std::string> origins;  // imported node names that it stands for
  std::string device;                // by which name the runtime finds it
  std::vector<std::byte> payload;    // what the back end made; only the device knows what it means
  std::vector<TensorIndex> arguments, results;
};
using Step = std::variant<HostStep, CpuStep, AccelStep, ExternStep>;

struct Bundle {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorIndex> inputs, outputs;
  std::vector<Step> steps;  // in execution order
  std::optional<CpuLibrary> cpu;  // where there are CPU steps
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
