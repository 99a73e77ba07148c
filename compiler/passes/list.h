// The list of graph passes: a row each, in the order in which the pipeline first runs them. A row has the name of the
// pass and of its function; the least level at which the pass runs (pass.h); the law that it uses, which its .cpp
// states in full; and a summary. docs/gen/passes.md is printed from these rows. compiler/pipeline.cpp defines when each
// pass runs; docs/howto/adding-a-pass.md describes how to add one.
#pragma once

#include <array>
#include <string_view>

#include "compiler/passes/pass.h"

// clang-format off
#define DOVETAIL_PASSES(PASS) \
  PASS(fold_constants, needed, "a node whose inputs are constant equals its value", \
       "evaluates nodes whose inputs are constant, Shape and Size; with static shapes this removes the Shape/Gather/Concat/Unsqueeze chains of exporters") \
  PASS(sink_into_subgraphs, needed, "a captured constant is a constant", \
       "copies captured constants into the subgraphs of `dovetail.if` and `dovetail.loop`, and removes operands that the subgraphs do not read") \
  PASS(eliminate_identities, exact, "f(x) = x", \
       "removes nodes that return their input; also runs before `lower_qdq` at every level") \
  PASS(lower_qdq, needed, "quantize(f(dequantize(q))) = an integer operator", \
       "lowers quantized forms to integer operators (docs/reference/quantization.md)") \
  PASS(pack_block_weights, needed, "x · dequantize(w) = packed_gemm(x, w)", \
       "lets products of floats and constants that are quantized in blocks (DequantizeLinear with `block_size`) read the weights as packed 2, 4 or 8 bits") \
  PASS(keep_weights_int8, needed, "x · dequantize(w) = wgemm(x, w)", \
       "lets products of float activations and quantized constants, which `lower_qdq` keeps in float, read the weights as int8") \
  PASS(simplify_movement, exact, "no element changes", \
       "merges and cancels reshapes and transposes, moves transposes past elementwise nodes to another transpose, moves reshapes that only change extents of 1 past nodes that can be one kernel with a convolution or product before them, and simplifies Slice of Concat and of Pad, Pad of Pad, Concat of Concat and of Split, sums of equally transposed operands, Expand before broadcasting nodes, and products of a stack of rows and a matrix") \
  PASS(fold_batch_norm, tolerant, "(conv(x, w) - m) · s = conv(x, w · s) - m · s", \
       "folds BatchNormalization into the convolution before it; else turns it into a product and a sum per channel") \
  PASS(simplify_algebra, exact, "each rule has its own law", \
       "applies a table of rules, each with the level from which it holds for floats") \
  PASS(recognize_normalizations, tolerant, "the definition of the operator", \
       "recognizes LayerNormalization along any axis, and Softmax") \
  PASS(recognize_activations, tolerant, "the definition of the operator", \
       "recognizes Gelu (erf and tanh), Sigmoid, Softplus, Swish, HardSigmoid, HardSwish, Mish") \
  PASS(recognize_attention, named, "the definition of the operator", \
       "turns attention written as MatMul(Softmax(MatMul(q, k) · scale + mask), v), also with scores hidden by a constant condition (Where with −∞ or a number close to the least), into `dovetail.attention`: for targets that have it as one kernel, which is only `cuda`. On the CPU three kernels are faster than its loop program") \
  PASS(lower_conv_transpose, tolerant, "the taps with the same remainder of the stride are a convolution", \
       "turns ConvTranspose into one Conv with an output channel for each element between two inputs, and the movement that interleaves these elements; quantized ones before `lower_qdq`, at level 0") \
  PASS(split_recurrent, exact, "W · [x1 … xn] = [W · x1 … W · xn]", \
       "splits LSTM, GRU and RNN into one MatMul of all steps' inputs, an Add, and the recurrence; for 16-bit floats from level 2") \
  PASS(fuse_matmul_add, exact, "a · b + c = gemm(a, b, c)", \
       "fuses MatMul and Add into Gemm; for 16-bit floats, which Gemm rounds once less, from level 2") \
  PASS(take_out_zero_points, exact, "(a - z) · b = a · b - z · Σ b", \
       "for MatMulInteger and ConvInteger with constant weights, as in dynamic quantization: moves zero points out of the sum into terms per channel and row after it, so that the sum multiplies bytes, for which processors and GPUs have instructions (docs/reference/quantization.md)") \
  PASS(fold_scales, tolerant, "s · (w · x) = (s · w) · x", \
       "folds factors and addends per channel into the weights of the Conv, ConvTranspose, Gemm or MatMul before or after") \
  PASS(fold_pads, exact, "conv(pad(x), p) = conv(x, p + pad)", \
       "folds Pad into convolutions and pools") \
  PASS(pool_early, exact, "max(f(x)) = f(max(x)) for increasing f", \
       "moves MaxPool before a Concat of integer convolutions, and before their changes of scale, so that convolution and pooling may be one operation") \
  PASS(eliminate_common_subexpressions, exact, "equal operands, equal results", \
       "keeps one of several nodes that compute the same values") \
  PASS(eliminate_dead_nodes, exact, "a result that is never read has no effect", \
       "removes nodes whose results are never read") \
  PASS(merge_parallel_convolutions, exact, "[w1; w2] · x = [w1 · x; w2 · x]", \
       "merges convolutions with the same input and geometry into one convolution and a Split, if that is faster") \
  PASS(drop_tiny_weights, tolerant, "(w + ε) · x = w · x for |ε| < 2^-64 · w", \
       "replaces weights below 2^-80 by zero: their products may be subnormal, for which processors take up to 100 times as long") \
  PASS(split_to_slices, exact, "a part of a Split is a Slice", \
       "turns a Split of int8 values into Slices, for targets whose operations have one result")
// clang-format on

namespace dovetail::passes {

using GraphPass = Result<PassOutcome> (*)(graph::Graph&, const PassContext&);

struct Row {
  std::string_view name;
  Level level;  // the least level at which it runs
  std::string_view law, summary;
  GraphPass run;
};

#define DOVETAIL_DECLARE_PASS(name, level, law, summary) \
  Result<PassOutcome> name(graph::Graph& graph, const PassContext& context = {});
DOVETAIL_PASSES(DOVETAIL_DECLARE_PASS)
#undef DOVETAIL_DECLARE_PASS

#define DOVETAIL_PASS_ROW(name, level, law, summary) Row{#name, Level::level, law, summary, name},
inline constexpr std::array kPasses{DOVETAIL_PASSES(DOVETAIL_PASS_ROW)};
#undef DOVETAIL_PASS_ROW

// Precondition: the pass exists.
consteval Row pass(std::string_view name) {
  for (const Row& row : kPasses)
    if (row.name == name) return row;
  throw "unknown pass";
}
// The pass at another level, or with another function.
consteval Row pass(std::string_view name, Level level, GraphPass run = nullptr) {
  Row row = pass(name);
  row.level = level;
  if (run != nullptr) row.run = run;
  return row;
}

}  // namespace dovetail::passes
