// A fetching statement: the loops and conditions around its single store, and the access that the store makes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// The loops and conditions around a statement's single store, outermost first.
struct Chain {
  std::vector<Core> around;
  const CoreStore* store = nullptr;

  // nullopt: the statement computes more than one value at a time.
  static std::optional<Chain> of(Core core);

  std::vector<const CoreLoop*> loops() const;
  std::vector<const CoreLoop*> own_loops() const;  // loops of one thread: excludes those over threads
  // The same loops and conditions around another statement, without the `left_out` innermost ones.
  Core around_of(Core inner, std::size_t left_out = 0) const;
};

// A load, or a select between a load and the value for elements outside the source.
struct Moved {
  const LoadExpr* load = nullptr;
  Expr condition, otherwise;  // null: always the load

  // nullopt: the value is something else, or its source depends on data.
  static std::optional<Moved> of(const Expr& value);
  bool is_zero_otherwise() const;  // positive zero; precondition: there is a condition
};

}  // namespace dovetail::loops
