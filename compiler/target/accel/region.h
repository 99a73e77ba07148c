// A region: operations that run as one accelerator step. Lays out its tensors, schedules and lowers each operation, plans the memory, places
// micro-ops and tokens, and proves the result with isa/verify.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/select.h"

namespace dovetail::accel {

// A tensor that crosses the region's border, in its packed form.
struct PackedTensor {
  graph::ValueId value;
  TensorLayout layout;
  std::uint64_t address = 0;
};

struct Region {
  bundle::AccelStep step;              // bindings are left to the caller, who knows the tensor indices
  std::vector<PackedTensor> inputs, outputs;
};

// `operations` in execution order. `outputs`: values that are read outside.
Result<Region> build_region(const graph::Graph& graph, const std::vector<Operation>& operations, const std::vector<graph::ValueId>& outputs,
                            const isa::HardwareConfig& config, std::string name, const Dump& dump);

// Host programs between the logical form of an int8 value and its packed form: parameter "in0", output "out0".
loops::Program pack_program(const std::string& name, const Shape& logical, const TensorLayout& layout);
loops::Program unpack_program(const std::string& name, const Shape& logical, const TensorLayout& layout);

}  // namespace dovetail::accel
