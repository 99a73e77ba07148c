// The code of steps that a library of the machine runs: operations on tensors, one after the other. Which of them, and
// of which types, a library takes is a row of a table (library_facts).
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
  convolution,  // of x [n, c, spatial...] with weights [outputs, c / groups, spatial...]; perhaps a bias
                // [outputs], or that and then a tensor of the result's shape, which are added
  product,      // of a [..., m, k] with b [..., k, n], leading axes broadcast; perhaps what is added: [n], a matrix of
                // the result's shape, or first the one and then the other
  maximum,      // of windows of x [n, c, spatial...]
  average,      // likewise, of the elements that windows meet
  average_of_pads,  // likewise, pads counted as zeros
  sum,              // of two tensors of one shape
  concatenation,    // of tensors, along `axis`
  softmax,          // of x along `axis`
  log_softmax       // likewise, its logarithm
};

struct LibraryOperation {
  LibraryKind kind = LibraryKind::sum;
  // Tensors: the step's arguments, then its results, then LibraryCode::inner.
  std::vector<std::uint64_t> operands = {};
  std::uint64_t result = 0;
  // Of convolutions and pools, an entry for each spatial axis. A window at position p meets the elements p * stride +
  // tap * dilation - pad_begin. The kernel is that of a pool alone.
  Shape kernel = {}, strides = {}, dilations = {}, pad_begin = {}, pad_end = {};
  std::int64_t groups = 1;
  std::uint64_t axis = 0;
  bool transposed_a = false, transposed_b = false;  // the last two axes of a product's operands
  double scale = 1, addend_scale = 1;               // of a product, and of what is added to it, the matrix of both
  bool gelu = false;                                // results of a product pass through GELU in its form with tanh
  std::optional<double> least = {}, most = {};      // what results are clamped to
  bool tf32 = false;  // of products and convolutions of float32: factors may be rounded to TF32's 11 bits
};

struct LibraryCode {
  std::vector<Shape> inner;  // of float32 tensors that no other step sees
  std::vector<LibraryOperation> operations;
  std::uint64_t arithmetic = 0;  // operations of the nodes, a multiply-add counted as two
};

enum class Clamping : std::uint8_t { any, from_zero, relu };

// What a library's steps may hold.
struct LibraryFacts {
  std::string_view target;
  std::vector<LibraryKind> kinds;
  std::vector<DType> floats;  // all tensors of an operation have one of these types
  Clamping clamping;          // relu: at 0 from below alone; from_zero: perhaps from above too
  bool integer_products;      // besides, products of int8 that give int32
  bool scales;                // of products: factors other than 1, and whole matrices that are added
  bool gelu;                  // of products, behind what is added
  bool convolution_sums;      // of a convolution with its bias: a tensor that is added, in front of a clamp at 0
  bool inner;                 // operations may hand tensors to each other within a step
  bool tf32;                  // factors of float32 may be rounded to TF32, where an operation allows it
};
const LibraryFacts& library_facts(std::string_view target);  // precondition: the target is one of those above

void encode(const LibraryCode& code, std::string_view target, Step& step);
Result<LibraryCode> decode_library(const Step& step);
// Tensors of types that the library takes, with elements, each computed once and before it is read, of the shapes that
// their operation makes of its operands'. Precondition: the bundle verifies.
Result<std::vector<CodedStep<LibraryCode>>> library_steps(const Bundle& bundle, std::string_view target);
// Of the tensors that operations name.
std::vector<Shape> tensor_shapes(const Bundle& bundle, const Step& step, const LibraryCode& code);
std::vector<DType> tensor_types(const Bundle& bundle, const Step& step, const LibraryCode& code);
// Of a window at all its positions; floor((x + pads - span) / stride) + 1, 0 where none fits.
std::int64_t positions(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t pads);

}  // namespace dovetail::bundle
