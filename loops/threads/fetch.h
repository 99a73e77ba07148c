// A statement that fetches: what is around its one store, and what that moves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// The loops and conditions around a statement's one store, outermost first.
struct Chain {
  std::vector<Core> around;
  const CoreStore* store = nullptr;

  // nullopt: it computes more than one value at a time.
  static std::optional<Chain> of(Core core);

  std::vector<const CoreLoop*> loops() const;
  std::vector<const CoreLoop*> own_loops() const;  // of a thread: not those over threads
  // The same around another statement, without the innermost `left_out` of them.
  Core around_of(Core inner, std::size_t left_out = 0) const;
};

// A load, or one of two: it, and the number that replaces what lies outside.
struct Moved {
  const LoadExpr* load = nullptr;
  Expr condition, otherwise;  // null: always the load

  // nullopt: the value is something else, or where it comes from depends on data.
  static std::optional<Moved> of(const Expr& value);
  bool is_zero_otherwise() const;  // and not the other zero; precondition: there is a condition
};

}  // namespace dovetail::loops
