// Gives each kind of accelerator its form of an operation: accelerators that differ compute parts of one operation,
// each by what its own extensions offer.
#pragma once

#include <memory>
#include <vector>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/accel/select/selection.h"

namespace dovetail::accel {

// The operation that `row` makes of the nodes, in a form for each kind that can compute it. The kind that is preferred
// among those that accept the row decides which nodes the operation covers; the others take the first row that makes an
// operation of the same nodes with the same operands. Error: no kind accepts the row, or a preferred one computes the
// nodes by another row.
Result<OperationForms> forms_of(const graph::Graph& graph, const pattern::Found& found, const SelectionRow& row,
                                const std::vector<Core>& kinds, const std::shared_ptr<Memo>& memo);

}  // namespace dovetail::accel
