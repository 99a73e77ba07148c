#include "compiler/target/accel/region_layouts.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::accel {

using graph::ValueId;

namespace {

bool is_whole(const Positions& positions, std::int64_t extent) {
  return positions.first == 0 && positions.step == 1 && positions.count == extent;
}

Border united(const Border& a, const Border& b) {
  return {std::max(a.top, b.top), std::max(a.left, b.left), std::max(a.bottom, b.bottom), std::max(a.right, b.right)};
}

// A value within another one has the border of the outer value, which is that of all its readers.
class Views {
 public:
  explicit Views(RegionLayouts& region) : region_(region) {}

  ValueId root(ValueId value) const {
    for (auto view = region_.views.find(value); view != region_.views.end(); view = region_.views.find(value))
      value = view->second.base;
    return value;
  }

  // Adds the view, unless the value is in another one already, or the borders differ.
  void add(ValueId value, const View& view) {
    const ValueId base = root(view.base);
    if (region_.views.count(value) > 0 || base == value) return;
    TensorLayout &whole = region_.layouts.at(base), &part = region_.layouts.at(value);
    if (!whole.folds.empty() || !part.folds.empty()) return;
    if (!whole.border.empty() && !part.border.empty() && whole.border_value != part.border_value) return;
    if (!part.border.empty()) whole.border_value = part.border_value;
    whole.border = united(whole.border, part.border);
    region_.views.emplace(value, view);
  }

  // Of two values that cross the region's border in the same memory.
  void share_border(ValueId a, ValueId b) {
    TensorLayout &x = region_.layouts.at(a), &y = region_.layouts.at(b);
    if (!y.border.empty()) x.border_value = y.border_value;
    x.border = y.border = united(x.border, y.border);
    y.border_value = x.border_value;
  }

  // Gives operand and result the same memory, in which the result is folded, unless the layout of one of them is
  // already decided.
  void add_folded(ValueId operand, ValueId result, const std::vector<Layout::Fold>& folds) {
    TensorLayout &whole = region_.layouts.at(result), &part = region_.layouts.at(operand);
    if (!whole.border.empty() || !part.border.empty() || !whole.folds.empty() || !part.folds.empty() ||
        region_.views.count(operand) > 0 || region_.views.count(result) > 0)
      return;
    whole = fold_layout(whole, folds);
    region_.views.emplace(operand, View{result, 0});
  }

  void spread_borders() {
    for (const auto& [value, view] : region_.views) {
      const TensorLayout& base = region_.layouts.at(root(value));
      TensorLayout& layout = region_.layouts.at(value);
      layout.border = base.border;
      layout.border_value = base.border_value;
    }
  }

 private:
  RegionLayouts& region_;
};

}  // namespace

std::optional<std::pair<ValueId, View>> view_of(const Operation& operation, const MoveSpec& part,
                                                const std::map<ValueId, TensorLayout>& layouts) {
  if (part.terms.size() != 1 || part.terms[0].selects() || part.y_min > -128 || part.y_max < 127) return std::nullopt;
  const MoveSpec::Term& term = part.terms[0];
  const ValueId input = operation.inputs[term.input];
  const TensorLayout &x = layouts.at(input), &y = layouts.at(operation.output);
  for (const TensorLayout* layout : {&x, &y})
    if (!is_whole(layout == &x ? term.rows : part.rows, layout->h) ||
        !is_whole(layout == &x ? term.columns : part.columns, layout->w) || layout->padded_n() != layout->batch)
      return std::nullopt;
  const auto blocks = [](const TensorLayout& layout) { return layout.padded_c() / layout.block; };
  if (part.first_block == 0 && part.blocks == blocks(y))
    return std::pair(operation.output, View{input, term.first_block});
  if (term.first_block == 0 && part.blocks == blocks(x))
    return std::pair(input, View{operation.output, part.first_block});
  return std::nullopt;
}

bool is_in_place(const Operation& operation, const MoveSpec& part, const RegionLayouts& layouts) {
  const auto view = view_of(operation, part, layouts.layouts);
  if (!view) return false;
  const auto known = layouts.views.find(view->first);
  return known != layouts.views.end() && known->second == view->second;
}

Result<RegionLayouts> region_layouts(const graph::Graph& graph, const std::vector<OperationForms>& operations,
                                     const std::set<ValueId>& crossing, const Core& config) {
  Diagnostics errors;
  RegionLayouts region;
  std::map<ValueId, TensorLayout>& layouts = region.layouts;
  std::set<ValueId> has_border;
  for (const OperationForms& forms : operations) {
    const Operation& operation = forms.any();
    layouts.try_emplace(operation.output, make_layout(config, image_shape(graph, operation.output, config)));
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const ValueId value = operation.inputs[i];
      const auto [at, added] = layouts.try_emplace(value, input_layout(graph, operation, i, config));
      TensorLayout& layout = at->second;
      const BorderNeed& need = operation.borders[i];
      if (!layout.folds.empty()) layout.border_value = need.value;  // it has no other reader
      if (need.border.empty()) continue;
      if (!has_border.insert(value).second && layout.border_value != need.value)
        errors.push_back({fmt::format("cannot choose a layout for {}", graph.value(value).name), "",
                          fmt::format("its consumers need borders of {} and {}", layout.border_value, need.value),
                          "place one of them on the host"});
      layout.border_value = need.value;
      layout.border = united(layout.border, need.border);
    }
  }
  if (!errors.empty()) return errors;
  Views views(region);
  for (const OperationForms& forms : operations) {
    const Operation& operation = forms.any();
    if (const auto* move = std::get_if<MoveOperation>(&operation.body)) {
      if (move->position) {
        if (crossing.count(operation.output) == 0) views.add(operation.output, View{operation.inputs[0], 0});
        else views.share_border(operation.inputs[0], operation.output);
        continue;
      }
      for (const MoveSpec& part : move->parts)
        if (const auto view = view_of(operation, part, layouts); view && crossing.count(view->first) == 0)
          views.add(view->first, view->second);
    }
  }
  views.spread_borders();
  // The host unpacks values that leave the accelerator anyway, so that depth to space costs nothing there.
  std::set<ValueId> read;
  for (const OperationForms& forms : operations) read.insert(forms.any().inputs.begin(), forms.any().inputs.end());
  for (const OperationForms& forms : operations) {
    const Operation& operation = forms.any();
    if (const auto* move = std::get_if<MoveOperation>(&operation.body); move && !move->folds.empty())
      if (crossing.count(operation.inputs[0]) == 0 && read.count(operation.output) == 0)
        views.add_folded(operation.inputs[0], operation.output, move->folds);
  }
  return region;
}

}  // namespace dovetail::accel
