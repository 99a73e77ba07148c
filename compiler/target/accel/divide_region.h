// Divides the operations of a region between accelerators that share a memory
// (docs/howto/several-accelerators.md): which part of each one every accelerator computes, and which parts run
// together. Accelerators are synchronized by launches: those of a group begin together, and the next group begins when
// all have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/cores.h"
#include "compiler/target/accel/division.h"
#include "compiler/target/accel/region_layouts.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/accel/select/slice.h"

namespace dovetail::accel {

// What an accelerator computes of an operation, in the form of its kind. Shares of one group on different accelerators
// access no byte that one of them writes.
struct Share {
  std::size_t operation = 0;
  Slice slice = {};
  std::optional<std::size_t> program = std::nullopt;  // one of operation_programs(); absent: all
  std::size_t accelerator = 0, group = 0;
  bool operator==(const Share&) const = default;
};

struct DividedRegion {
  std::vector<OperationForms> operations;  // some with more programs than before
  std::vector<Share> shares;  // in an order in which one accelerator could execute them; groups without gaps, from 0
};

// The ways among which counted cycles should decide (Division::count); without counting, the one with the fewest
// expected cycles. Error: the images of a batch cannot be divided (Split::stages), with Cause::request.
Result<std::vector<DividedRegion>> divide_region(const graph::Graph& graph,
                                                 const std::vector<OperationForms>& operations,
                                                 const RegionLayouts& layouts, const Division& division,
                                                 const Cores& cores, const std::shared_ptr<Memo>& memo);

}  // namespace dovetail::accel
