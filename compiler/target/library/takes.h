// What libraries take of a graph. Targets that hand operations to a library share how a match becomes an operation
// (bundle/code/library.h); each has its own table of patterns, and predicates for what its library does not do.
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

// What a match of a library is. The operation names no tensors yet: these are the values that it reads, and the one
// that it computes.
struct Body {
  bundle::LibraryOperation operation;
  std::vector<graph::ValueId> operands;
  graph::ValueId result;
  // Constants that take the place of operands, by their number: bytes with scales as floats, what was scaled or
  // transposed.
  std::map<std::size_t, std::shared_ptr<const NdArray>> made = {};
};
struct TakenBody final : Taken {
  explicit TakenBody(Body body) : body(std::move(body)) {}
  Body body;
};
// Of an operand, or of what takes its place.
graph::TensorType operand_type(const graph::Graph& graph, const Body& body, std::size_t operand);

Diagnostic refuse(std::string why);

// Each makes the operation of one kind of match; an error says what no library takes.
using Take = Result<Body> (*)(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_convolution(const graph::Graph& graph, const pattern::Found& found);  // Conv, dovetail.wconv
// What is added behind a product or a convolution, of the result's shape: "residual"; the row that MatMul has besides:
// "bias".
Result<Body> take_gemm(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_weight_only_gemm(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_matmul(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_integer_matmul(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_pool(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_global_pool(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_sum(const graph::Graph& graph, const pattern::Found& found);  // of "a" and "b"
Result<Body> take_concatenation(const graph::Graph& graph, const pattern::Found& found);
Result<Body> take_softmax(const graph::Graph& graph, const pattern::Found& found);

// What the library does not do of an operation. It may change how the operation is written.
using Fits = std::function<Result<void>(const graph::Graph& graph, Body& body)>;

// A row of the table of a target: what `take` makes of a match, unless it breaks a rule of library_facts(target) or
// `fits` refuses it.
PatternRow library_row(std::string_view target, std::string name, std::string_view pattern, Take take,
                       Fits fits = nullptr);

}  // namespace dovetail::library
