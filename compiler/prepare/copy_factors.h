// Copies of a product's operands that a block before it makes, so that it reads them more cheaply: rounded, or with
// neighbors along the depth.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loops/ir.h"

namespace dovetail::prepare {

// Block NAME.prepared, before the nest of contraction `main`, copies every element of `from`; `main` reads the copy. It
// is stored with those dimensions last that a reduce iterator indexes alone. Preconditions: `main` reads `from` at one
// index, `from` is complete before that nest, and the names are free.
inline constexpr const char* kPrepared = ".prepared";
loops::Program with_copy(loops::Program program, const std::string& main, const loops::Buffer& from);

// The program in which block `name`, a plain store, stores `value` of what it stored.
loops::Program with_value(loops::Program program, const std::string& name,
                          const std::function<loops::Expr(const loops::Expr&)>& value);

// A factor of contraction `main` whose elements are neighbors along the rows or columns, or that is read as patches,
// while only one iterator of the depth, `channels`, indexes a dimension alone.
struct ScatteredFactor {
  loops::Buffer buffer, other;  // other: what the other factor reads
  std::size_t channels;         // position of the iterator
  bool patches;                 // an index consists of several iterators, or of multiples
  std::int64_t run;             // elements of rows or columns that are contiguous
};
// The expression in which iterators of one value are 0: the index of a window of one element becomes an iterator.
loops::Expr without_constant_iterators(const loops::Block& block, const loops::Expr& expr);

// nullopt: neither factor is of that form, or one is more than an element of a buffer or a constant in its place.
std::optional<ScatteredFactor> scattered_factor(const loops::Program& program, const std::string& main);

// The program in which the iterator at that position of block `main` is the innermost one of the depth. This changes
// the order of its sums. Precondition: `main` is a contraction.
loops::Program with_innermost(loops::Program program, const std::string& main, std::size_t iterator);

}  // namespace dovetail::prepare
