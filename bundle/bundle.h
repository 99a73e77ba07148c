// The bundle: what the compiler hands to the runtime, and the file OUT.dvt. It holds everything a run needs (code,
// constants, memory plan) and nothing of the compiler. It knows no target: what a step's code means is between the
// target that made it and the device that runs it (of the kit's own targets: bundle/code/).
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

// A memory in which tensors lie: the host's, or one that belongs to a device, as the DRAM of an accelerator.
struct MemorySpace {
  std::string target;  // whose device allocates it
  std::string name;
  std::uint64_t base = 0;   // address of its first byte, as the device sees it
  std::uint64_t bytes = 0;  // that tensors with an offset, and whatever else the device keeps there, need
};
inline constexpr SpaceIndex kHostSpace = 0;

// A tensor of the run: graph input, constant, intermediate or output. Packed tensors (accelerator layouts) are tensors
// like any other.
struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  Constant constant = {};
  // Where `shape` is not the model's: the index map from it, and the name of the value whose elements these are.
  std::string layout = {}, logical = {};
  // Where a step's result lies in its space, a multiple of kTensorAlignment. In the host's memory it may be left out:
  // the tensor then has memory of its own.
  std::optional<std::uint64_t> offset = {};
  // The same bytes as that tensor, in another shape: no step computes it.
  std::optional<TensorIndex> view_of = {};
  // Inputs and constants lie in the host's memory, views where their tensor lies.
  SpaceIndex space = kHostSpace;
};
inline constexpr std::uint64_t kTensorAlignment = 64;  // what kernels expect (bundle/code/kernel_abi.h)

struct Bundle;

// One step of the run: what the steps of all targets have in common, and the code of its own.
struct Step {
  std::string name;                             // of the node that gives it its name, or "relayout X"
  std::string target;                           // by which name the runtime finds the device
  std::vector<std::string> origins;             // imported node names that it represents; empty for relayouts
  std::vector<TensorIndex> arguments, results;  // in the order that the code expects
  std::vector<std::byte> code = {};             // only the target's device knows what it means
  // Large pieces that `code` refers to by index: constants in the target's form, programs. Equal ones are stored once
  // in a file, also across programs for several shapes.
  std::vector<Blob> data = {};
  // What the step runs when values say so (bundle/code/flow.h): programs that see nothing but their inputs, without
  // other_shapes.
  std::vector<Bundle> programs = {};
};
// Of programs of steps in one another; the bundle itself is not counted.
inline constexpr int kMostNestedPrograms = 8;

// What all steps of one target share: an ELF object, a cubin.
struct Module {
  std::string target;
  std::string made_for;  // which devices of that name can run it, in the target's own words
  std::vector<std::byte> code;
};

// How many elements an output has along an axis where that depends on values: its tensor has their bound there, and the
// first ones are meant, as many as the tensor `extent` says when the run has ended (int64[1]).
struct OutputExtent {
  TensorIndex output = 0;
  std::int64_t axis = 0;
  TensorIndex extent = 0;
  bool operator==(const OutputExtent&) const = default;
};

// Whether machine code in a bundle may run: it can do all that the user can. What this process has compiled is trusted.
// Of a file its reader decides, who knows where it comes from.
enum class MachineCode {
  untrusted,  // the bundle can be looked at, and run where no step of it is machine code
  trusted     // it may be loaded
};

struct Bundle {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorIndex> inputs, outputs;
  std::vector<OutputExtent> extents;                       // of outputs, at most one each
  std::vector<Step> steps;                                 // in execution order
  std::vector<MemorySpace> spaces = {{"host", "memory"}};  // the first is the host's
  std::vector<Module> modules;                             // at most one of a target
  Json report;  // compile report: nodes, targets, reasons (docs/explanation/architecture.md, "compile report")
  // The same model for other shapes of its inputs: the same names and types of inputs and outputs, and nothing of this
  // in turn. A run takes the program whose inputs have the shapes that it is given.
  std::vector<Bundle> other_shapes;
  MachineCode machine_code = MachineCode::trusted;  // of all programs; no part of the file
};

inline constexpr std::string_view kFileExtension = ".dvt";  // of every bundle that is to be run

// OUT.dvt (bundle/format.h). Reading checks everything but the steps' code, which their devices check. Whether the code
// that this user's compiler wrote is to be trusted: runtime/machine_code.h.
std::vector<std::byte> serialize(const Bundle& bundle);
// The same without a copy of what is large: pieces of the bundle, which outlives this, and of what is between them.
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

// Bytes of a tensor. Precondition: of a bundle that verifies, or one read from a file.
std::uint64_t size_bytes(const Tensor& tensor);
// The tensor whose bytes these are: itself, or what it is a view of, at the end of the chain.
TensorIndex root_of(const Bundle& bundle, TensorIndex tensor);
// The bundle, its programs for other shapes, and the programs of all their steps, however deep.
std::vector<const Bundle*> all_programs(const Bundle& bundle);
// Null: there is none.
const Module* find_module(const Bundle& bundle, std::string_view target);

// The steps between which a tensor's bytes must stay: from the one that writes them (-1 for inputs and constants) to
// the last that reads them or a view of them (the number of steps for outputs and their extents). By root; views have
// the range of their root.
struct LiveRange {
  std::ptrdiff_t first = -1, last = -1;
};
std::vector<LiveRange> live_ranges(const Bundle& bundle);

// Indices in range, every tensor defined before use, tensors inside their space, and those that live there at the same
// time in disjoint places. Says nothing of the steps' code.
Result<void> verify(const Bundle& bundle);

}  // namespace dovetail::bundle
