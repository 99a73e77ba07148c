// The bundle: what the compiler passes to the runtime, and the file OUT.dvt. It contains everything a run needs (code,
// constants, memory plan) and does not depend on the compiler or on targets: the meaning of a step's code is defined by
// the target that generated it and the device that runs it (for the kit's own targets: bundle/code/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/content.h"

namespace dovetail::bundle {

using TensorIndex = std::int32_t;
using SpaceIndex = std::int32_t;

// A memory for tensors: the host's, or a device's, such as the DRAM of an accelerator.
struct MemorySpace {
  std::string target;  // the target whose device allocates it
  std::string name;
  std::uint64_t base = 0;   // address of its first byte, as the device sees it
  std::uint64_t bytes = 0;  // size needed by tensors with an offset, and by other data that the device keeps there
};
inline constexpr SpaceIndex kHostSpace = 0;

// A tensor of the run: graph input, constant, intermediate or output. Packed tensors (accelerator layouts) are ordinary
// tensors.
struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  Constant constant = {};
  // Set if `shape` is not the model's: the index map from the model's shape, and the name of the value whose elements
  // these are.
  std::string layout = {}, logical = {};
  // The address of a step's result in its space, a multiple of kTensorAlignment. Optional in the host's memory: a
  // tensor without it gets separate memory.
  std::optional<std::uint64_t> offset = {};
  // A view: the tensor has the bytes of that tensor, with another shape. No step computes it.
  std::optional<TensorIndex> view_of = {};
  // Inputs and constants are in the host's memory; views are in the space of their base tensor.
  SpaceIndex space = kHostSpace;
  // The step that computes the tensor changes this argument in place: both have one place, and no later step reads the
  // argument.
  std::optional<TensorIndex> overwrites = {};
};
inline constexpr std::uint64_t kTensorAlignment = 64;  // required by kernels (bundle/code/kernel_abi.h)

struct Bundle;

// One step of the run: the fields common to the steps of all targets, and the target's code.
struct Step {
  std::string name;                             // name of the main node, or "relayout X"
  std::string target;                           // the name by which the runtime finds the device
  std::vector<std::string> origins;             // names of the imported nodes that it represents; empty for relayouts
  std::vector<TensorIndex> arguments, results;  // in the order that the code expects
  std::vector<std::byte> code = {};             // interpreted only by the target's device
  // Large blobs that `code` refers to by index: constants in the target's layout, programs. Identical blobs are stored
  // once in a file, also across programs for several shapes.
  std::vector<Blob> data = {};
  // The programs that the step runs depending on values (bundle/code/flow.h); they see only their inputs, and have no
  // other_shapes.
  std::vector<Bundle> programs = {};
};
// The maximum nesting of programs of steps; the bundle itself is not counted.
inline constexpr int kMostNestedPrograms = 8;

// Code shared by all steps of one target: an ELF object, a cubin.
struct Module {
  std::string target;
  std::string made_for;  // which devices of that name can run it, in the target's own notation
  std::vector<std::byte> code;
};

// The extent of an output along an axis if that extent depends on values: the tensor has the upper bound, and only the
// first elements are valid, as many as the tensor `extent` (int64[1]) says when the run has ended.
struct OutputExtent {
  TensorIndex output = 0;
  std::int64_t axis = 0;
  TensorIndex extent = 0;
  bool operator==(const OutputExtent&) const = default;
};

// A state: what a run gives for `output` is what the next run reads as `input`, unless the caller gives another value.
// The first run reads zeros.
struct State {
  TensorIndex input = 0, output = 0;  // of the same type and shape
  bool operator==(const State&) const = default;
};

// A value that may stay in a device's memory from run to run. `before`, which a step overwrites with `after`, has the
// value of `input`, and `output` that of `after`; the steps between them only convert it. If a state is from `input` to
// `output`, these steps need not run, unless the caller reads or gives the value.
struct Resident {
  TensorIndex input = 0, output = 0, before = 0, after = 0;
  bool operator==(const Resident&) const = default;
};

// Whether machine code in a bundle may run: it can do everything that the user can. Code that this process has compiled
// is trusted. For a file, the code that reads it decides, since it knows the file's origin.
enum class MachineCode {
  untrusted,  // the bundle can be inspected, and run if no step of it is machine code
  trusted     // it may be loaded
};

struct Bundle {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorIndex> inputs, outputs;
  std::vector<OutputExtent> extents;                       // of outputs; at most one per output
  std::vector<State> states;                               // at most one per input, and per output
  std::vector<Resident> residents;                         // likewise
  std::vector<Step> steps;                                 // in execution order
  std::vector<MemorySpace> spaces = {{"host", "memory"}};  // the first is the host's
  std::vector<Module> modules;                             // at most one per target
  Json report;  // compile report: nodes, targets, reasons (docs/explanation/architecture.md, "compile report")
  // The same model for other shapes of its inputs: the same names and types of inputs and outputs, and no further
  // other_shapes. A run uses the program whose inputs have the given shapes.
  std::vector<Bundle> other_shapes;
  MachineCode machine_code = MachineCode::trusted;  // applies to all programs; not stored in the file
};

inline constexpr std::string_view kFileExtension = ".dvt";  // for every executable bundle

// Reads and writes OUT.dvt (bundle/format.h). Reading checks everything except the steps' code, which their devices
// check. Whether code is trusted because this user's compiler wrote it: runtime/machine_code.h.
std::vector<std::byte> serialize(const Bundle& bundle);
// The same without copying large blobs: spans of the bundle, which must outlive the result, and of the bytes between
// them.
struct Serialized {
  Serialized() = default;
  Serialized(Serialized&&) = default;

  std::vector<std::byte> between;
  Pieces pieces;

  std::size_t size() const;
};
Serialized serialize_in_pieces(const Bundle& bundle);
Result<Bundle> parse(std::span<const std::byte> bytes, std::string_view where, MachineCode machine_code);
Result<Bundle> read_bundle(const std::filesystem::path& path, MachineCode machine_code);
Result<void> write_bundle(const std::filesystem::path& path, const Bundle& bundle);

// Size of a tensor in bytes. Precondition: the tensor is part of a bundle that verifies, or of one read from a file.
std::uint64_t size_bytes(const Tensor& tensor);
// The tensor that owns the bytes: the tensor itself, or the end of its chain of views.
TensorIndex root_of(const Bundle& bundle, TensorIndex tensor);
// The bundle, its programs for other shapes, and the programs of all their steps, recursively.
std::vector<const Bundle*> all_programs(const Bundle& bundle);
// nullptr if there is no such module.
const Module* find_module(const Bundle& bundle, std::string_view target);

// The range of steps during which a tensor is live: from the step that writes them (-1 for inputs and constants) to the
// last one that reads them or a view of them (the number of steps for outputs and their extents). One range per root
// tensor; views have the range of their root.
struct LiveRange {
  std::ptrdiff_t first = -1, last = -1;
};
std::vector<LiveRange> live_ranges(const Bundle& bundle);

// Checks that indices are valid, that every tensor is defined before its use and is inside its space, and that tensors
// of one space that are live at the same time do not overlap. Does not check the steps' code.
Result<void> verify(const Bundle& bundle);

}  // namespace dovetail::bundle
