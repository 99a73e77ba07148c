// What a statement of the core form touches, and on which thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// Of all statements in `core`, in any order. Indices are those of loads and stores; an intrinsic's operand, and what is
// copied, has those of its first element; a tensor of which a box is copied, those of the buffer's first one.
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

// Which coordinate alone decides that an element's index in one dimension belongs to a thread. With x the coordinate on
// `axis`, of as many values as there are `threads`:
//
//   index = round * (threads * unit) + x * unit + rest        0 <= rest < unit
//
// so that neighbors lie with one thread, `unit` of them, and every (threads * unit)-th one again. `round` and `rest`
// are free of coordinates.
struct Owner {
  std::string axis;
  std::int64_t unit = 1;
  std::int64_t elements = 1;  // of a thread in that dimension
  Expr own;                   // round * unit + rest: which of the thread's own elements it is
  bool same_form(const Owner& other) const { return axis == other.axis && unit == other.unit; }
};
// `extent`: of the buffer in that dimension. nullopt: the index is not shown to be of that form.
std::optional<Owner> owner_of(const Expr& index, std::int64_t extent, const std::vector<AroundThread>& around,
                              const Bounds& bounds);

// The unit of the coordinate on `axis` where that alone decides to whom `elements` neighbors from the index on belong,
// whatever other coordinates are in it: as above, of which `rest` may have others and `rest + elements <= unit`.
// nullopt: not shown.
std::optional<std::int64_t> stripe_of(const Expr& index, std::int64_t elements, std::string_view axis,
                                      const std::vector<AroundThread>& around, const Bounds& bounds);

}  // namespace dovetail::loops
