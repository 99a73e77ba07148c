// The code of a step that oneDNN runs: operations of its library on float32 tensors, one after the other. In between
// the library keeps tensors in whatever layout it likes best.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"

namespace dovetail::bundle {

inline constexpr std::string_view kOnednnTarget = "onednn";

enum class OnednnKind : std::uint8_t {
  convolution,      // of x [n, c, spatial...] with weights [outputs, c / groups, spatial...]; perhaps a bias [outputs]
  product,          // of a [..., m, k] with b [..., k, n], leading axes broadcast; perhaps a bias [n]
  maximum,          // of windows of x [n, c, spatial...]
  average,          // likewise, of the elements that windows meet
  average_of_pads,  // likewise, pads counted as zeros
  sum,              // of two tensors of one shape
  concatenation     // of tensors, along `axis`
};

struct OnednnOperation {
  OnednnKind kind = OnednnKind::sum;
  // Tensors: the step's arguments, then its results, then OnednnCode::inner.
  std::vector<std::uint64_t> operands = {};
  std::uint64_t result = 0;
  // Of convolutions and pools, an entry for each spatial axis. A window at position p meets the elements p * stride +
  // tap * dilation - pad_begin. The kernel is that of a pool alone.
  Shape kernel = {}, strides = {}, dilations = {}, pad_begin = {}, pad_end = {};
  std::int64_t groups = 1;
  std::uint64_t axis = 0;
  bool transposed_a = false, transposed_b = false;  // the last two axes of a product's operands
  std::optional<double> least = {}, most = {};      // what results are clamped to
};

struct OnednnCode {
  std::vector<Shape> inner;  // of tensors that no other step sees
  std::vector<OnednnOperation> operations;
  std::uint64_t arithmetic = 0;  // operations of the nodes, a multiply-add counted as two
};

void encode(const OnednnCode& code, Step& step);
Result<OnednnCode> decode_onednn(const Step& step);
// Tensors of float32 with elements, each computed once and before it is read, of shapes that their operation takes as
// far as the library does not check that itself. Precondition: the bundle verifies.
Result<std::vector<CodedStep<OnednnCode>>> onednn_steps(const Bundle& bundle);
// Of the tensors that operations name.
std::vector<Shape> tensor_shapes(const Bundle& bundle, const Step& step, const OnednnCode& code);

}  // namespace dovetail::bundle
