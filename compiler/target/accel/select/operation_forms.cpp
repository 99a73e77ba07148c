#include "compiler/target/accel/select/operation_forms.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "isa/spec/config.h"

namespace dovetail::accel {

using graph::Graph;
using graph::NodeId;

namespace {

bool is_same_move(const MoveSpec& a, const MoveSpec& b) {
  const auto same_term = [](const MoveSpec::Term& x, const MoveSpec::Term& y) {
    return x.input == y.input && x.first_block == y.first_block && x.rows == y.rows && x.columns == y.columns &&
           x.channels == y.channels;
  };
  return a.first_block == b.first_block && a.blocks == b.blocks && a.rows == b.rows && a.columns == b.columns &&
         a.y_min == b.y_min && a.y_max == b.y_max && std::ranges::equal(a.terms, b.terms, same_term);
}

}  // namespace

std::size_t OperationForms::first_kind() const {
  const auto found = std::ranges::find_if(by_kind, [](const auto& form) { return form.has_value(); });
  DOVETAIL_CHECK(found != by_kind.end(), "an accelerator computes the operation");
  return static_cast<std::size_t>(found - by_kind.begin());
}

bool has_same_operands(const Operation& a, const Operation& b) {
  const auto folds_of = [](const Operation& operation) {
    const auto* conv = std::get_if<ConvOperation>(&operation.body);
    const auto* move = std::get_if<MoveOperation>(&operation.body);
    return conv ? conv->folds : move ? move->folds : std::vector<Layout::Fold>{};
  };
  if (a.inputs != b.inputs || a.output != b.output || a.borders != b.borders || folds_of(a) != folds_of(b))
    return false;
  const auto *one = std::get_if<MoveOperation>(&a.body), *other = std::get_if<MoveOperation>(&b.body);
  if (one == nullptr || other == nullptr) return one == other;
  return one->position.has_value() == other->position.has_value() &&
         std::ranges::equal(one->parts, other->parts, is_same_move);
}

namespace {

// The operation of the nodes on this accelerator, by the first row that accepts them.
std::optional<Operation> other_form(const Graph& graph, const pattern::Found& nodes, const Operation& form,
                                    const Core& core, const std::shared_ptr<Memo>& memo) {
  for (const SelectionRow& row : selection_rows()) {
    if (!row.exists_on(core)) continue;
    const auto found = pattern::match(graph, nodes.nodes.back(), *pattern::parse(row.pattern));
    if (!found.ok() || found->nodes != nodes.nodes) continue;
    auto operation = make_operation({graph, core, *found}, row, memo);
    if (operation.ok() && has_same_operands(form, *operation)) return *std::move(operation);
  }
  return std::nullopt;
}

// Whether a row accepts nodes on this accelerator of which this one is the last.
bool computes(const Graph& graph, NodeId last, const Core& core, const std::shared_ptr<Memo>& memo) {
  return std::ranges::any_of(selection_rows(), [&](const SelectionRow& row) {
    if (!row.exists_on(core)) return false;
    const auto found = pattern::match(graph, last, *pattern::parse(row.pattern));
    return found.ok() && make_operation({graph, core, *found}, row, memo).ok();
  });
}

// The kinds with the most extensions first, then those with the most multipliers: what they refuse because other
// operations are faster, a slower kind should not make one operation that it alone computes.
std::vector<std::size_t> by_preference(const std::vector<Core>& kinds) {
  std::vector<std::size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t k) {
    const auto extensions = std::ranges::count_if(
        isa::spec::kExtensions, [&](const isa::spec::Extension& row) { return kinds[k].*row.member; });
    return std::pair(-extensions, -kinds[k].macs_per_uop());
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

}  // namespace

Result<OperationForms> forms_of(const Graph& graph, const pattern::Found& found, const SelectionRow& row,
                                const std::vector<Core>& kinds, const std::shared_ptr<Memo>& memo) {
  OperationForms forms;
  forms.by_kind.resize(kinds.size());
  std::optional<std::size_t> first;
  Diagnostics problems;
  for (const std::size_t k : by_preference(kinds)) {
    if (row.exists_on(kinds[k])) {
      auto operation = make_operation({graph, kinds[k], found}, row, memo);
      if (operation.ok()) {
        forms.by_kind[k] = *std::move(operation);
        first = k;
        break;
      }
      if (problems.empty()) problems = operation.errors();
    }
    if (kinds.size() > 1 && computes(graph, found.nodes.back(), kinds[k], memo)) break;
  }
  if (!first && problems.empty())
    return Context{graph, kinds.front(), found}.refuse("another pattern has more accelerators");
  if (!first) return problems;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (k != *first) forms.by_kind[k] = other_form(graph, found, *forms.by_kind[*first], kinds[k], memo);
  return forms;
}

}  // namespace dovetail::accel
