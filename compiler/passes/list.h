// The list of graph passes: one row each, in the order in which the pipeline first runs them. A row has the name, which
// is also that of the function; the least level at which the pass runs (pass.h); the law that it uses, which its .cpp
// states in full; and what it does. docs/gen/passes.md is printed from these rows. compiler/pipeline.cpp says when each
// pass runs; docs/howto/adding-a-pass.md leads through a new one.
#pragma once

#include <array>
#include <string_view>

#include "compiler/passes/pass.h"

// clang-format off
#define DOVETAIL_PASSES(PASS) \
  PASS(fold_constants, needed, "a node of constants is its value", \
       "nodes of constants, Shape, Size; with static shapes that is every Shape/Gather/Concat/Unsqueeze chain of exporters") \
  PASS(sink_into_subgraphs, needed, "a captured constant is a constant", \
       "constants that subgraphs of `dovetail.if` and `dovetail.loop` capture become theirs; operands that they do not read go") \
  PASS(eliminate_identities, exact, "f(x) = x", \
       "nodes that hand on their input; before `lower_qdq` at every level") \
  PASS(lower_qdq, needed, "quantize(f(dequantize(q))) = an integer operator", \
       "quantized forms to integer operators (docs/reference/quantization.md)") \
  PASS(keep_weights_int8, needed, "x · dequantize(w) = wgemm(x, w)", \
       "products of float activations by quantized constants, left by `lower_qdq`, read the weights as int8") \
  PASS(simplify_movement, exact, "no element changes", \
       "reshapes and transposes merge and cancel, transposes pass elementwise nodes to meet another, extents of 1 after a convolution or product pass what can be one kernel with it, Slice of Concat, Concat of Concat and of Split, Expand before what broadcasts") \
  PASS(fold_batch_norm, tolerant, "(conv(x, w) - m) · s = conv(x, w · s) - m · s", \
       "BatchNormalization into the convolution before it; else to a product and a sum per channel") \
  PASS(simplify_algebra, exact, "each rule its own", \
       "a table of rules, each with the level from which it holds for floats") \
  PASS(recognize_normalizations, tolerant, "the definition of the operator", \
       "LayerNormalization along any axis, Softmax") \
  PASS(recognize_activations, tolerant, "the definition of the operator", \
       "Gelu (erf and tanh), Sigmoid, Softplus, Swish, HardSigmoid, HardSwish, Mish") \
  PASS(recognize_attention, named, "the definition of the operator", \
       "attention written out, MatMul(Softmax(MatMul(q, k) · scale + mask), v), also where a constant condition hides scores (Where with −∞ or about the least number), to `dovetail.attention`: for targets that have it as one kernel, `cuda` alone. On the CPU three kernels are faster than its loop program") \
  PASS(lower_conv_transpose, tolerant, "every stride-th tap is a convolution", \
       "ConvTranspose to one Conv with an output channel for each element between two inputs, and the movement that puts them side by side; quantized ones before `lower_qdq`, at level 0") \
  PASS(split_recurrent, exact, "W · [x1 … xn] = [W · x1 … W · xn]", \
       "LSTM, GRU and RNN to one MatMul of all steps' inputs, an Add, and the recurrence; of 16-bit floats from level 2 on") \
  PASS(fuse_matmul_add, exact, "a · b + c = gemm(a, b, c)", \
       "MatMul and Add to Gemm; of 16-bit floats, which Gemm rounds once less, from level 2 on") \
  PASS(take_out_zero_points, exact, "(a - z) · b = a · b - z · Σ b", \
       "MatMulInteger and ConvInteger of constant weights, as dynamic quantization makes them: zero points out of the sum and into terms of channels and rows after it, so that the sum is one of bytes, which processors and GPUs have instructions for (docs/reference/quantization.md)") \
  PASS(fold_scales, tolerant, "s · (w · x) = (s · w) · x", \
       "factors and summands per channel into the weights of the Conv, Gemm or MatMul before or after") \
  PASS(fold_pads, exact, "conv(pad(x), p) = conv(x, p + pad)", \
       "Pad into convolutions and pools") \
  PASS(pool_early, exact, "max(f(x)) = f(max(x)) for rising f", \
       "MaxPool before a Concat of integer convolutions, and before their changes of scale, so that convolution and pooling may be one operation") \
  PASS(eliminate_common_subexpressions, exact, "equal operands, equal results", \
       "of nodes that compute the same, one") \
  PASS(eliminate_dead_nodes, exact, "what nobody reads has no effect", \
       "nodes whose results nobody reads") \
  PASS(merge_parallel_convolutions, exact, "[w1; w2] · x = [w1 · x; w2 · x]", \
       "convolutions of one input and geometry become one and a Split, where that pays") \
  PASS(split_to_slices, exact, "a part of a Split is a Slice", \
       "a Split of int8 values to Slices, which targets with one result an operation take")
// clang-format on

namespace dovetail::passes {

using GraphPass = Result<PassOutcome> (*)(graph::Graph&, const PassContext&);

struct Row {
  std::string_view name;
  Level level;  // the least at which it runs
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

// Precondition: there is a pass of that name.
consteval Row pass(std::string_view name) {
  for (const Row& row : kPasses)
    if (row.name == name) return row;
  throw "there is no pass of that name";
}
// The pass at another level, or in another form.
consteval Row pass(std::string_view name, Level level, GraphPass run = nullptr) {
  Row row = pass(name);
  row.level = level;
  if (run != nullptr) row.run = run;
  return row;
}

}  // namespace dovetail::passes
