#include "compiler/target/cudnn/target.h"

#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/library.h"
#include "compiler/target/library/takes.h"
#include "compiler/target/library/target.h"

namespace dovetail::cudnn {

using bundle::LibraryKind;
using graph::Graph;

namespace {

using namespace library;

// The library has one pad for both sides of an axis. If a convolution's pads differ, the runtime copies x with the
// excess of the larger side, row by row and plane by plane; the padding value of a pool is not a number.
Result<void> fits_windows(const Graph& graph, const Body& body) {
  const bundle::LibraryOperation& operation = body.operation;
  const Shape x = operand_type(graph, body, 0).shape, y = graph.value(body.result).type.shape;
  const bool pools = operation.kind != LibraryKind::convolution;
  const Shape weights = pools ? Shape{} : operand_type(graph, body, 1).shape;
  std::int64_t padded = x[0] * x[1];  // upper bound of the elements of x with its pads
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    const std::int64_t kernel = pools ? operation.kernel[axis] : weights[axis + 2];
    const std::int64_t made = bundle::positions(x[axis + 2], kernel, operation.strides[axis], operation.dilations[axis],
                                                2 * operation.pad_begin[axis]);
    const bool copies = !pools && axis + 4 >= x.size();
    if (copies && made != y[axis + 2]) padded *= operation.pad_begin[axis] + operation.pad_end[axis] + x[axis + 2];
    else padded *= x[axis + 2];
    if (made != y[axis + 2] && !copies)
      return refuse(
          fmt::format("spatial axis {2} has pads of {0} and {1} elements, but cuDNN pads both sides equally, and would "
                      "compute {3} results instead of {4}",
                      operation.pad_begin[axis], operation.pad_end[axis], axis, made, y[axis + 2]));
    if (pools && operation.dilations[axis] != 1)
      return refuse(fmt::format("the pooling windows have a dilation of {}, which cuDNN does not support",
                                operation.dilations[axis]));
  }
  if (padded > std::numeric_limits<std::int32_t>::max())
    return refuse(fmt::format("the padded input has {} elements, more than a 32-bit index can count", padded));
  return {};
}

Result<void> fits(const Graph& graph, Body& body) {
  for (std::size_t i = 0; i <= body.operands.size(); ++i) {
    const graph::TensorType type =
        i == body.operands.size() ? graph.value(body.result).type : operand_type(graph, body, i);
    if (element_count(type.shape) > std::numeric_limits<std::int32_t>::max())
      return refuse(
          fmt::format("a tensor of shape {} has more elements than a 32-bit index can count", to_string(type.shape)));
  }
  const LibraryKind kind = body.operation.kind;
  if (kind == LibraryKind::softmax || kind == LibraryKind::log_softmax) return {};
  return fits_windows(graph, body);
}

PatternRow row(std::string name, std::string_view pattern, Take take) {
  return library_row(bundle::kCudnnTarget, std::move(name), pattern, take, fits);
}

}  // namespace

TargetPointer make_target(bool tf32) {
  // The first row that matches a node is used: longer patterns come before shorter ones.
  std::vector<PatternRow> rows{
      row("convolution with residual", "Relu(Add~(Conv|dovetail.wconv(...), residual=_))", take_convolution),
      row("convolution", "Relu?(Conv|dovetail.wconv(...))", take_convolution),
      row("convolution", "Clip(Conv|dovetail.wconv(...), ...)", take_convolution),
      row("pool", "MaxPool|AveragePool(_)", take_pool),
      row("pool", "GlobalAveragePool|GlobalMaxPool(_)", take_global_pool),
      row("softmax", "Softmax|LogSoftmax(_)", take_softmax),
  };
  return library::make_gpu_target(bundle::kCudnnTarget, std::move(rows), tf32);
}

}  // namespace dovetail::cudnn
