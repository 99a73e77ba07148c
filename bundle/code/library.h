// The code of steps that a vendor library (oneDNN, cuBLAS, cuDNN) runs: operations on tensors, executed in order. A
// table (library_facts) has a row for each library with the operations and types that it supports.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"

namespace dovetail::bundle {

inline constexpr std::string_view kOnednnTarget = "onednn", kCublasTarget = "cublas", kCudnnTarget = "cudnn";
extern const TargetFacts kOnednnFacts, kCublasFacts, kCudnnFacts;

enum class LibraryKind : std::uint8_t {
  convolution,  // of x [n, c, spatial...] with weights [outputs, c / groups, spatial...]; optionally a bias
                // [outputs], or a bias and a tensor of the result's shape, which are added
  product,      // of a [..., m, k] with b [..., k, n], leading axes broadcast; optionally an addend: [n], a matrix of
                // the result's shape, or the former and then the latter
  maximum,      // of windows of x [n, c, spatial...]
  average,      // likewise, of the elements inside the tensor
  average_of_pads,  // likewise, counting pads as zeros
  sum,              // of two tensors of one shape
  concatenation,    // of tensors, along `axis`
  softmax,          // of x along `axis`
  log_softmax       // likewise, its logarithm
};

struct LibraryOperation {
  LibraryKind kind = LibraryKind::sum;
  // Tensor numbers: the step's arguments, then its results, then LibraryCode::inner.
  std::vector<std::uint64_t> operands = {};
  std::uint64_t result = 0;
  // For convolutions and pools, one entry for each spatial axis. A window at position p covers the elements p * stride
  // + tap * dilation - pad_begin. `kernel` is used only by pools.
  Shape kernel = {}, strides = {}, dilations = {}, pad_begin = {}, pad_end = {};
  std::int64_t groups = 1;
  std::uint64_t axis = 0;
  bool transposed_a = false, transposed_b = false;  // the last two axes of a product's operands
  double scale = 1, addend_scale = 1;               // factors of a product, and of the matrix that is added to it
  bool gelu = false;                                // results of a product pass through GELU in its tanh form
  std::optional<double> least = {}, most = {};      // bounds to which results are clamped
  bool tf32 = false;  // for products and convolutions of float32: factors may be rounded to TF32's 11 bits
};

struct LibraryCode {
  std::vector<Shape> inner;  // float32 tensors that no other step sees
  std::vector<LibraryOperation> operations;
  std::uint64_t arithmetic = 0;  // operations of the nodes; a multiply-add counts as two
};

enum class Clamping : std::uint8_t { any, from_zero, relu };

// The features that a library's steps may use.
struct LibraryFacts {
  std::string_view target;
  std::vector<LibraryKind> kinds;
  std::vector<DType> floats;  // all tensors of an operation have one of these types
  Clamping clamping;          // relu: at 0 from below only; from_zero: optionally also from above
  bool integer_products;      // additionally, products of int8 that give int32
  bool scales;                // for products: factors other than 1, and addition of whole matrices
  bool gelu;                  // for products, after the addition
  bool convolution_sums;      // for a convolution with its bias: addition of a tensor, before a clamp at 0
  bool inner;                 // operations may pass tensors to each other within a step
  bool tf32;                  // factors of float32 may be rounded to TF32 if an operation allows it
};
const LibraryFacts& library_facts(std::string_view target);  // precondition: the target is one of those above

void encode(const LibraryCode& code, std::string_view target, Step& step);
Result<LibraryCode> decode_library(const Step& step);
// Checks that tensors are not empty, have types that the library supports and the shapes that their operation computes,
// and are computed once, before they are read. Precondition: the bundle verifies.
Result<std::vector<CodedStep<LibraryCode>>> library_steps(const Bundle& bundle, std::string_view target);
// The shapes of the tensors that operations name.
std::vector<Shape> tensor_shapes(const Bundle& bundle, const Step& step, const LibraryCode& code);
std::vector<DType> tensor_types(const Bundle& bundle, const Step& step, const LibraryCode& code);
// The extent of a window operation's result; floor((x + pads - span) / stride) + 1, 0 if no window fits.
std::int64_t positions(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t pads);

}  // namespace dovetail::bundle
