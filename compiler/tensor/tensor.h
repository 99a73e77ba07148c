// Tensor expressions: an operator defines each output element once, on logical axes; build() turns the definition into
// a naive loop program, one block per tensor, in the order of definition, with loops named after the axes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loops/ir.h"

namespace dovetail::tensor {

// A named axis; `extent` elements from 0.
struct Axis {
  std::string name;
  std::int64_t extent;
};
using Axes = std::vector<Axis>;
using Indices = std::vector<loops::Expr>;

// A reduction: identity and combine on scalars; tuples have one entry per component (argmax: value and index).
struct Reducer {
  std::string name;
  std::function<std::vector<loops::Expr>(const std::vector<DType>&)> identity;
  std::function<std::vector<loops::Expr>(const std::vector<loops::Expr>& accumulated,
                                         const std::vector<loops::Expr>& value)>
      combine;
  bool of_products = false;  // each value is a product (loops/product_sum.h)
};
const Reducer& sum_reducer();
// The sum of values that are products, if the operator's definition treats multiplication and addition as one
// operation: MatMul, Conv.
const Reducer& product_sum_reducer();
const Reducer& max_reducer();
const Reducer& min_reducer();
const Reducer& product_reducer();
// (value, index), index int64. For equal values the smallest index wins, whatever the order of the reduction; NaN never
// wins.
const Reducer& arg_max_reducer();
const Reducer& arg_min_reducer();

// Block and buffer names are unique in a definition, axis names in a block (InternalError otherwise). A tensor without
// elements gets no block; a reduction over an empty axis is its identity.
class Definition {
 public:
  explicit Definition(std::string program_name);

  loops::Buffer input(std::string name, DType dtype, Shape shape);
  loops::Buffer constant(std::string name, DType dtype, Shape shape);

  // buffer[axes] = body(indices); the block is named `name`, its loops `<name>.<axis>`.
  loops::Buffer compute(std::string name, DType dtype, const Axes& axes,
                        const std::function<loops::Expr(const Indices&)>& body);
  // buffer[axes] = reduce over `reduce_axes` of body(spatial indices, reduce indices), starting at the reducer's
  // identity.
  loops::Buffer reduce(std::string name, DType dtype, const Axes& axes, const Axes& reduce_axes, const Reducer& reducer,
                       const std::function<loops::Expr(const Indices&, const Indices&)>& body);
  // The same, each starting at a given value instead of the identity, over axes that are not empty.
  loops::Buffer reduce_from(std::string name, DType dtype, const Axes& axes, const Axes& reduce_axes,
                            const Reducer& reducer, const std::function<loops::Expr(const Indices&)>& start,
                            const std::function<loops::Expr(const Indices&, const Indices&)>& body);
  // One buffer per component of a tuple reducer.
  std::vector<loops::Buffer> reduce_tuple(
      const std::vector<std::string>& names, const std::vector<DType>& dtypes, const Axes& axes,
      const Axes& reduce_axes, const Reducer& reducer,
      const std::function<std::vector<loops::Expr>(const Indices&, const Indices&)>& body);
  // A block written by hand.
  void statement(loops::Stmt stmt, std::vector<loops::Buffer> written);

  // A tensor written by `update`.
  loops::Buffer declare(std::string name, DType dtype, Shape shape);
  // A block of declared tensors; its loops are `axes`, outermost first. `body` stores, or loops and stores.
  struct UpdateAxis {
    std::string name;
    std::int64_t extent;
    loops::IterKind kind = loops::IterKind::spatial;
  };
  void update(const std::string& name, const std::vector<UpdateAxis>& axes,
              const std::function<loops::Stmt(const Indices&)>& body, const loops::Annotations& annotations = {});
  // buffer[axes] = buffer[axes] + product(spatial indices, reduce index), for each step of `reduced` in turn, the
  // innermost spatial axis inside: a sum of products whose lanes are adjacent.
  void accumulate(const std::string& name, const loops::Buffer& buffer, const Axes& axes, const Axis& reduced,
                  const std::function<loops::Expr(const Indices&, const loops::Expr&)>& product);
  // The blocks that `body` adds run one after another inside one loop, in the loop's order. `body` receives the step.
  void in_order(const Axis& axis, const std::function<void(const loops::Expr&)>& body);

  // Buffers named here become outputs in this order; other computed buffers are allocations. Precondition: each was
  // defined here. `output_names`, if given, replaces the names of their buffers (the blocks keep theirs).
  loops::Program build(const std::vector<loops::Buffer>& outputs,
                       const std::vector<std::string>& output_names = {}) const;

 private:
  loops::Buffer parameter(std::string name, DType dtype, Shape shape, loops::ParameterRole role);
  void add_block(const std::string& name, const Axes& axes, const Axes& reduce_axes,
                 const std::vector<loops::Buffer>& written,
                 const std::function<loops::Block(const Indices&, const Indices&)>& make_block);
  void add_nest(const std::string& name, const std::vector<UpdateAxis>& axes,
                const std::function<loops::Block(const Indices&)>& make_block);

  std::string name_;
  std::vector<loops::Parameter> parameters_;
  std::vector<loops::Buffer> computed_;
  std::vector<loops::Stmt> body_;
  struct Step {  // an open loop of in_order
    Axis axis;
    loops::Var loop;
  };
  std::vector<Step> steps_;
};

}  // namespace dovetail::tensor
