// The bundle: what the compiler hands to the runtime, and the file OUT.dvt. It holds everything a run needs (programs,
// constants, memory plan) and nothing of the compiler: host steps are loop programs, accelerator steps are instruction
// streams with a DRAM image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/verify.h"
#include "loops/ir.h"

namespace dovetail::bundle {

using TensorIndex = std::int32_t;

// Elements that do not change. Tensors of several programs may hold the same ones.
class Constant {
 public:
  Constant() = default;
  Constant(NdArray elements)
      : elements_(std::make_shared<const NdArray>(std::move(elements))) {}  // NOLINT: implicit by design
  Constant(std::optional<NdArray> elements) {                               // NOLINT: implicit by design
    if (elements) elements_ = std::make_shared<const NdArray>(*std::move(elements));
  }

  explicit operator bool() const { return elements_ != nullptr; }
  const NdArray& operator*() const { return *elements_; }
  const NdArray* operator->() const { return elements_.get(); }
  bool operator==(const Constant& other) const {
    return elements_ == other.elements_ || (elements_ && other.elements_ && *elements_ == *other.elements_);
  }
  bool is_same_as(const Constant& other) const { return elements_ == other.elements_; }

 private:
  std::shared_ptr<const NdArray> elements_;
};

// A tensor of the run: graph input, constant, intermediate or output. Packed tensors (accelerator layouts) are tensors
// like any other.
struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  Constant constant = {};
  // Where `shape` is not the model's: the index map from it, and the name of the value whose elements these are.
  std::string layout = {}, logical = {};
  // Where a step's result lies in the memory that the whole run shares, a multiple of kTensorAlignment; without it in
  // memory of its own. Unless a binding puts it into the accelerator's memory.
  std::optional<std::uint64_t> offset = {};
  // The same bytes as that tensor, in another shape: no step computes it.
  std::optional<TensorIndex> view_of = {};
};
inline constexpr std::uint64_t kTensorAlignment = 64;  // what kernels expect (bundle/kernel_abi.h)

// A loop program run on the host. `arguments`: its inputs and constants in parameter order; `results`: its outputs.
struct HostStep {
  std::string name;                  // the node, or "relayout X"
  std::vector<std::string> origins;  // imported node names it represents; empty for relayouts
  loops::Program program;
  std::vector<TensorIndex> arguments, results;
};

// A compiled kernel run on the CPU: a function of the bundle's shared object.
struct CpuStep {
  std::string name;                             // of the node that gives the group its name, or "relayout X"
  std::vector<std::string> origins;             // imported node names that the kernel represents; empty for relayouts
  std::string symbol;                           // of type Kernel (bundle/kernel_abi.h)
  std::vector<TensorIndex> arguments, results;  // the kernel's buffers in this order
  std::uint64_t shared_bytes = 0;               // workspace of the kernel
  std::uint64_t local_bytes = 0;                // workspace of each thread
  std::uint64_t operations = 0;                 // arithmetic operations of the nodes, a multiply-add counted as two
  bool integer = false;                         // most of them on integers
  std::uint64_t code_bytes = 0;                 // machine instructions of the kernel
  std::vector<std::string> failures;            // by site
};
// The kernels of all CPU steps: an ELF shared object without undefined symbols.
struct CpuLibrary {
  std::string processor;  // the class it is made for (base/processor.h)
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
// Which instructions come from which imported nodes: [begin, end), in order, covering the program.
struct InstructionRange {
  std::size_t begin = 0, end = 0;
  std::string name;
  std::vector<std::string> origins;
};
// One region of the graph on the accelerator: the launches run on memory in which the segments and the inputs lie.
// Steps may share a memory, which is laid out again for each run. A tensor that is bound lies there, so that the step
// before writes it in place; one that is bound in several places is copied.
struct AccelStep {
  std::string name;
  isa::HardwareConfig config;
  std::int32_t memory = 0;  // steps of the same number share it, and have configuration, base and size in common
  std::uint64_t dram_base = 0, dram_bytes = 0;
  std::vector<Segment> segments;
  std::uint64_t program_base = 0;  // physical address of the instructions (also a segment)
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  std::vector<Binding> inputs, outputs;
  std::vector<InstructionRange> ranges;
  std::uint64_t uops = 0;  // micro-ops in the image
};
// A region for a device that the kit does not know: code of a back end of the user's, run by the implementation that
// the runtime is given for that device (runtime/device.h).
struct ExternStep {
  std::string name;
  std::vector<std::string> origins;  // imported node names that it represents
  std::string device;                // by which name the runtime finds it
  std::vector<std::byte> payload;    // what the back end made; only the device knows what it means
  std::vector<TensorIndex> arguments, results;
};
using Step = std::variant<HostStep, CpuStep, AccelStep, ExternStep>;

struct Bundle {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorIndex> inputs, outputs;
  std::vector<Step> steps;         // in execution order
  std::uint64_t memory_bytes = 0;  // that the tensors with an offset share
  std::optional<CpuLibrary> cpu;   // where there are CPU steps
  Json report;                     // compile report: nodes, targets, reasons (docs/architecture.md, "compile report")
  // The same model for other shapes of its inputs: the same names and types of inputs and outputs, and nothing of this
  // in turn. A run takes the program whose inputs have the shapes that it is given.
  std::vector<Bundle> other_shapes;
};

// OUT.dvt: magic "DOVETAIL", version, a JSON manifest and one binary blob per constant, segment and program. Reading
// checks everything.
std::vector<std::byte> serialize(const Bundle& bundle);
Result<Bundle> parse(std::span<const std::byte> bytes, std::string_view where);
Result<Bundle> read_bundle(const std::filesystem::path& path);
Result<void> write_bundle(const std::filesystem::path& path, const Bundle& bundle);

// Bytes of a tensor. Precondition: of a bundle that verifies, or one read from a file.
std::uint64_t size_bytes(const Tensor& tensor);

// Arguments and results of any step; bindings of an accelerator step in their order.
std::vector<TensorIndex> arguments_of(const Step& step);
std::vector<TensorIndex> results_of(const Step& step);
// The tensor whose bytes these are: itself, or what it is a view of, at the end of the chain.
TensorIndex root_of(const Bundle& bundle, TensorIndex tensor);

// The steps between which a tensor's bytes must stay: from the one that writes them (-1 for inputs and constants) to
// the last that reads them or a view of them (the number of steps for outputs). By root; views have the range of their
// root.
struct LiveRange {
  std::ptrdiff_t first = -1, last = -1;
};
std::vector<LiveRange> live_ranges(const Bundle& bundle);

// Indices in range, types of programs and tensors agree, every tensor defined before use, segments and bindings inside
// the memory and disjoint, tensors that live at the same time in disjoint places.
Result<void> verify(const Bundle& bundle);

}  // namespace dovetail::bundle
