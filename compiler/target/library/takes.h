// The operations of a graph that vendor libraries support. Targets that use a library share the translation of a match
// into an operation (bundle/code/library.h); each has its own table of patterns, and predicates for what its library
// does not support.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bundle/code/library.h"
#include "compiler/target/target.h"

namespace dovetail::library {

// A match translated for a library. The operation does not refer to tensors yet: these are the values that it reads,
// and the one that it computes.
struct Body {
  bundle::LibraryOperation operation;
  std::vector<graph::ValueId> operands;
  graph::ValueId result;
  // Constants that replace operands, by their number: dequantized bytes, or scaled or transposed constants.
  std::map<std::size_t, std::shared_ptr<const NdArray>> made = {};
};
struct TakenBody final : Taken {
  explicit TakenBody(Body body) : body(std::move(body)) {}
  Body body;
};
// The type of an operand, or of its replacement.
graph::TensorType operand_type(const graph::Graph& graph, const Body& body, std::size_t operand);

Diagnostic refuse(std::string why);

// Each translates one kind of match; an error reports what no library supports.
using Take = Result<Body> (*)(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_convolution(const graph::Graph& graph, const pattern::Found& found);  // Conv, dovetail.wconv
// `residual` is added after a product or a convolution, with the result's shape; `bias` is the row that MatMul
// adds too.
Result<Body> take_gemm(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_weight_only_gemm(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_matmul(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_integer_matmul(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_pool(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_global_pool(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_sum(const graph::Graph& graph, const pattern::Found& found);  // sum of "a" and "b"
Result<Body> take_concatenation(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_softmax(const graph::Graph& graph, const pattern::Found& found);

// Rejects what the library does not support of an operation. It may change how the operation is written.
using Fits = std::function<Result<void>(const graph::Graph& graph, Body& body)>;

// A row of the table of a target: the result of `take` for a match, unless it violates a rule of library_facts(target)
// or `fits` rejects it.
PatternRow library_row(std::string_view target, std::string name, std::string_view pattern, Take take,
                       Fits fits = nullptr);

}  // namespace dovetail::library
