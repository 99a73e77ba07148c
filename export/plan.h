// What an exported program consists of: kernels, constants, calls, and the memory between them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "export/accelerator.h"
#include "export/c_kernel.h"

namespace dovetail::exporting {

// real = (value - zero_point) * scale
struct Quantization {
  double scale = 1;
  std::int64_t zero_point = 0;
};

// Kernels that are compiled already, in objects; the bundle's steps of target cpu call them by their symbols
// (bundle/code/kernel_abi.h).
struct ObjectKernels {
  std::string processor;          // by its name on the command line
  std::string flags = {};         // of GCC, for the C code that calls them
  std::uint64_t alignment = 8;    // of the arena and of the values in it
  std::uint64_t stack_bytes = 0;  // local arrays of a kernel, at most
  // The functions of the mathematical library that a kernel calls, by symbol.
  std::map<std::string, std::set<std::string>> libm = {};
  std::set<std::string> helpers = {};  // functions of the C compiler's run-time library: "__aeabi_fadd"
};

struct Options {
  std::string name = "net";  // an identifier: begins every external name, and is the name of the files
  bool libm = true;          // functions of the mathematical library may be called
  std::optional<std::uint64_t> most_arena_bytes = {};
  std::map<std::string, Quantization> quantization = {};  // of inputs and outputs, by name
  std::optional<ObjectKernels> object = {};               // absent: kernels are written in C
};

// An input or output of the program.
struct Port {
  std::string field;   // member of the struct
  std::string tensor;  // its name in the model
  DType dtype = DType::float32;
  Shape shape;
  std::optional<Quantization> quantization = {};
  std::string note = {};  // for example the state that it continues
};

struct PlannedKernel {
  std::string function;                    // with the prefix
  loops::Program program = {};             // in C
  CKernel code = {};                       // of an object: what its caller provides
  std::vector<std::string> comments = {};  // the nodes, and their operands
  std::size_t first_site = 0;              // of an object, in Plan::sites
  bool is_empty = false;                   // nothing to compute: an operand without elements
};

// Where the bytes of a tensor or of a workspace are.
struct Place {
  enum class Of : std::uint8_t { constant, input, output, arena, device };  // device: the accelerator's memory
  Of of = Of::arena;
  std::uint64_t at = 0;  // index, or offset in bytes
  DType dtype = DType::float32;
  bool is_written = false;
};

struct KernelCall {
  std::size_t kernel = 0;
  std::vector<Place> arguments;  // those that the kernel uses
  std::vector<Place> workspace;  // in the order of CKernel::workspace
};
// The launches of a region. The processor's caches are written back before them where it has written to the
// accelerator's memory, and are invalidated after them where it will read what they wrote.
struct RegionCall {
  std::size_t region = 0;
  std::vector<MemoryRange> clean, invalidate;
  std::optional<Place> position = {};  // int64[1], of PlannedRegion::offset
};
// A copy of a whole tensor.
struct Copy {
  Place to, from;
  std::uint64_t bytes = 0;
};
using PlannedCall = std::variant<KernelCall, RegionCall, Copy>;

struct PlannedConstant {
  std::string name;  // with the prefix
  std::string tensor;
  bundle::Constant value;
};

inline constexpr std::uint64_t kArenaAlignment = 8;  // of exported C

struct Plan {
  Options options;
  std::string model;  // its name
  std::vector<Port> inputs, outputs;
  std::vector<PlannedConstant> constants;
  std::vector<PlannedKernel> kernels;
  std::optional<PlannedAccelerator> accelerator;  // absent: no step runs on one
  std::vector<PlannedCall> calls;                 // in the order of the run
  std::uint64_t arena_bytes = 0, arena_alignment = kArenaAlignment;
  std::uint64_t constant_bytes = 0;
  std::uint64_t stack_bytes = 0;  // of the local arrays of the kernel that has most
  FailureSites sites;
  Needs needs;
  std::map<std::string, std::vector<std::string>> libm_nodes;  // the nodes that call each function of math.h

  std::size_t steps() const;  // calls of kernels and regions
};

// Errors: steps that are neither loop programs on the host nor of the accelerator, several shapes.
Result<void> check_exportable(const bundle::Bundle& bundle);
// Errors: steps that are neither loop programs on the host (or kernels of Options::object) nor of the accelerator,
// several shapes, an operation of the mathematical library if the options exclude it, an arena larger than the options
// allow. Precondition: the bundle
// verifies.
Result<Plan> plan_project(const bundle::Bundle& bundle, Options options);

}  // namespace dovetail::exporting
