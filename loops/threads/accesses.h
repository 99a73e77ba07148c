// The accesses of a core-form statement, and the threads that make them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// All accesses in `core`, in any order. Indices are those of loads and stores; for an operand of an intrinsic and the
// ends of a copy, those of the first element; for a tensor of which a box is copied, those of the buffer's first
// element.
using VisitAccess = std::function<void(const Buffer& buffer, const std::vector<Expr>& indices, bool is_written)>;
void each_access(const Core& core, const VisitAccess& visit);

void each_copy(const Core& core, const std::function<void(const CoreAsyncCopy&)>& visit);
void each_box_copy(const Core& core, const std::function<void(const CoreBoxCopy&)>& visit);
void each_call(const Core& core, const std::function<void(const CoreCall&)>& visit);

bool has_thread_loops(const Core& core);

// A thread loop around an access: the axis that it is bound to and its variable.
struct AroundThread {
  std::string axis;
  const VarNode* var = nullptr;
  std::int64_t extent = 1;
};

// An element's index in one dimension determines its thread through one coordinate. With x the coordinate on `axis`,
// which has `threads` values:
//
//   index = round * (threads * unit) + x * unit + rest        0 <= rest < unit
//
// Each thread thus owns `unit` neighbors, and every (threads * unit)-th such group. `round` and `rest` do not depend on
// coordinates.
struct Owner {
  std::string axis;
  std::int64_t unit = 1;
  std::int64_t elements = 1;  // number of elements of a thread in that dimension
  Expr own;                   // round * unit + rest: the number of the element among the thread's own
  bool same_form(const Owner& other) const { return axis == other.axis && unit == other.unit; }
};
// `extent`: the buffer's extent in that dimension. nullopt: the index is not proven to be of that form.
std::optional<Owner> owner_of(const Expr& index, std::int64_t extent, const std::vector<AroundThread>& around,
                              const Bounds& bounds);

// The `unit` of the coordinate on `axis` if it alone determines the owner of the `elements` neighbors that begin at the
// index: as above, but `rest` may contain other coordinates, and `rest + elements <= unit`. nullopt: not proven.
std::optional<std::int64_t> stripe_of(const Expr& index, std::int64_t elements, std::string_view axis,
                                      const std::vector<AroundThread>& around, const Bounds& bounds);

}  // namespace dovetail::loops
