// Split along one axis: by the sizes of input 1, by num_outputs (the last part may be smaller), or evenly by the number
// of outputs.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

Result<std::vector<std::int64_t>> sizes_of(const Operands& operands, std::size_t axis) {
  const std::int64_t extent = operands.type(0).shape[axis];
  const auto outputs = static_cast<std::int64_t>(operands.node.outputs.size());
  if (const NdArray* split = operands.constant(1)) {
    const std::vector<std::int64_t> sizes = integers_of(*split);
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) {
      if (size < 0)
        return refuse(operands, fmt::format("split contains {}, but sizes must be at least 0", size),
                      "fix the exporter");
      sum += size;
    }
    if (static_cast<std::int64_t>(sizes.size()) != outputs || sum != extent)
      return refuse(
          operands,
          fmt::format(
              "split [{}] has {} parts of {} elements, but the node has {} outputs, and axis {} has {} elements",
              join(sizes), sizes.size(), sum, outputs, axis, extent),
          "the parts must add up to the extent, one per output");
    return sizes;
  }
  const std::int64_t parts = graph::int_attribute(operands.node, "num_outputs", outputs);
  if (parts != outputs)
    return refuse(operands, fmt::format("num_outputs is {}, but the node has {} outputs", parts, outputs),
                  "make them equal");
  if (!operands.node.attributes.contains("num_outputs") && extent % parts != 0)
    return refuse(operands,
                  fmt::format("extent {} of axis {} does not divide into {} equal parts", extent, axis, parts),
                  "give the sizes as input 1");
  const std::int64_t size = (extent + parts - 1) / parts;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), size);
  sizes.back() = extent - size * (parts - 1);
  if (sizes.back() < 0)
    return refuse(operands,
                  fmt::format("{} parts of {} elements exceed extent {} of axis {}", parts, size, extent, axis),
                  "use fewer outputs");
  return sizes;
}

Result<Types> infer_split(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  DOVETAIL_ASSIGN(const std::vector<std::int64_t> sizes, sizes_of(operands, axis));
  Types types;
  for (const std::int64_t size : sizes) {
    types.push_back(operands.type(0));
    types.back().shape[axis] = size;
  }
  return types;
}

Result<loops::Program> define_split(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  Naive program(operands);
  std::vector<loops::Buffer> parts;
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < operands.node.outputs.size(); ++k) {
    const graph::TensorType& type = operands.output(k);
    parts.push_back(
        program.compute(fmt::format("split{}", k), type.dtype, tensor_axes(type.shape), [&](const Indices& i) {
          return loops::load(program.in(0), begin == 0 ? i : with_index(i, axis, i[axis] + begin));
        }));
    begin += type.shape[axis];
  }
  return program.finish(parts);
}

}  // namespace

std::vector<OpDef> split_ops() {
  return {{"Split",
           Category::injective,
           infer_split,
           define_split,
           {1},
           {{{"input"}, {"split", kInt64, 0, Presence::optional}},
            {{"axis", AttributeKind::integer}, {"num_outputs", AttributeKind::integer}},
            -1}}};
}

}  // namespace dovetail::ops
