#include "compiler/target/accel/programs/moves.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/support/element_sources.h"

namespace dovetail::accel {

namespace {

// Results of one period have their own steps: DepthToSpace, Resize.
constexpr std::int64_t kLongestPeriod = 8;
// Each part is a separate program.
constexpr std::size_t kMostParts = 64;

// The source of an element: a constant, or an element of an input.
struct Source {
  std::int64_t input = -1;  // -1: a constant
  std::int64_t n = 0, channel = 0, row = 0, column = 0;
  std::int64_t value = 0;
  bool operator==(const Source&) const = default;
  bool is_constant() const { return input < 0; }
};

// Every `period`-th position from `first`, whose sources are `step` apart.
struct Run {
  std::int64_t first, period, count, step;
};

Diagnostic refusal(std::string why) { return {"cannot move in parts", "", std::move(why), ""}; }

class Planner {
 public:
  Planner(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs, const ImageShape& result,
          std::int64_t block)
      : sources_(sources), inputs_(inputs), result_(result), block_(block) {}

  Result<std::vector<MoveSpec>> plan() {
    const auto place = [](std::int64_t o, std::int64_t at, std::int64_t across, bool rows) {
      return rows ? std::array{o, at, across} : std::array{o, across, at};
    };
    const auto runs_along = [&](bool rows) {
      const std::int64_t extent = rows ? result_.h : result_.w, across = rows ? result_.w : result_.h;
      return runs(extent,
                  [&, rows](std::int64_t from, std::int64_t to) { return step(place, rows, across, from, to); });
    };
    const std::vector<Run> rows = runs_along(true), columns = runs_along(false);
    for (const Run& row : rows)
      for (const Run& column : columns) {
        DOVETAIL_TRY(add_box(row, column));
        if (parts_.size() > kMostParts)
          return refusal(fmt::format("its copies would have more than {} parts", kMostParts));
      }
    return std::move(parts_);
  }

 private:
  // Whether the result is a matrix, and the pixel is not one of its rows.
  bool is_outside(std::int64_t n, std::int64_t x) const {
    return result_.rows > 0 && x * result_.n + n >= result_.rows;
  }

  Source at(std::int64_t n, std::int64_t o, std::int64_t y, std::int64_t x) const {
    const std::int64_t row = x * result_.n + n;
    std::int64_t code = sources_[static_cast<std::size_t>(
        result_.rows > 0 ? row * result_.c + o : ((n * result_.c + o) * result_.h + y) * result_.w + x)];
    Source source;
    if (code < kFirstSource) {
      source.value = code;
      return source;
    }
    code -= kFirstSource;
    for (const ImageShape& input : inputs_) {
      ++source.input;
      const std::int64_t count = input.rows > 0 ? input.rows * input.c : input.n * input.c * input.h * input.w;
      if (code >= count) {
        code -= count;
        continue;
      }
      if (input.rows > 0) {
        source.channel = code % input.c;
        source.n = code / input.c % input.n;
        source.column = code / input.c / input.n;
        break;
      }
      source.column = code % input.w;
      source.row = code / input.w % input.h;
      source.channel = code / (input.w * input.h) % input.c;
      source.n = code / (input.w * input.h * input.c);
      break;
    }
    return source;
  }

  // The distance from the sources of one row to those of the next; nullopt where it is not constant, or negative.
  // Checked in a few places only; add_box checks all of them.
  template <typename Place>
  std::optional<std::int64_t> step(const Place& place, bool rows, std::int64_t across, std::int64_t from,
                                   std::int64_t to) const {
    std::optional<std::int64_t> common;
    for (const std::int64_t o : {std::int64_t{0}, result_.c / 2, result_.c - 1})
      for (const std::int64_t other : {std::int64_t{0}, across / 2, across - 1}) {
        const auto [o0, y0, x0] = place(o, from, other, rows);
        const auto [o1, y1, x1] = place(o, to, other, rows);
        Source a = at(0, o0, y0, x0);
        const Source b = at(0, o1, y1, x1);
        const std::int64_t difference = rows ? b.row - a.row : b.column - a.column;
        (rows ? a.row : a.column) += difference;
        if (a != b || difference < 0) return std::nullopt;
        if (a.is_constant()) continue;
        if (common && *common != difference) return std::nullopt;
        common = difference;
      }
    return common.value_or(0);
  }

  // The least number of runs that cover all positions.
  template <typename Step>
  static std::vector<Run> runs(std::int64_t extent, const Step& step) {
    std::vector<Run> best;
    for (std::int64_t period = 1; period <= std::min(extent, kLongestPeriod); ++period) {
      std::vector<Run> all;
      for (std::int64_t first = 0; first < period; ++first)
        for (std::int64_t at = first; at < extent;) {
          Run run{at, period, 1, 1};
          std::optional<std::int64_t> common;
          for (at += period; at < extent; at += period, ++run.count) {
            const std::optional<std::int64_t> next = step(at - period, at);
            if (!next || (common && *common != *next)) break;
            common = next;
          }
          if (common) run.step = *common;
          all.push_back(run);
        }
      if (best.empty() || all.size() < best.size()) best = std::move(all);
    }
    return best;
  }

  // The sources of all pixels of the box follow from those of its first pixel: one step further for each row or column.
  Result<void> add_box(const Run& rows, const Run& columns) {
    std::vector<Source> channels;
    for (std::int64_t o = 0; o < result_.c; ++o) {
      channels.push_back(at(0, o, rows.first, columns.first));
      if (channels.back().n != 0) return refusal("its elements move along the batch");
    }
    for (std::int64_t n = 0; n < result_.n; ++n)
      for (std::int64_t o = 0; o < result_.c; ++o)
        for (std::int64_t y = 0; y < rows.count; ++y)
          for (std::int64_t x = 0; x < columns.count; ++x) {
            Source expected = channels[static_cast<std::size_t>(o)];
            if (!expected.is_constant()) {
              expected.n = n;
              expected.row += y * rows.step;
              expected.column += x * columns.step;
            }
            if (is_outside(n, columns.first + x * columns.period)) continue;
            const Source source = at(n, o, rows.first + y * rows.period, columns.first + x * columns.period);
            if (source != expected)
              return refusal(source.n != expected.n ? "its elements move along the batch"
                                                    : "its pixels are not in a regular order");
          }
    for (std::int64_t first = 0; first < result_.c; first += block_) {
      MoveSpec part;
      part.rows = {rows.first, rows.period, rows.count};
      part.columns = {columns.first, columns.period, columns.count};
      part.first_block = first / block_;
      const std::size_t end = static_cast<std::size_t>(std::min(first + block_, result_.c));
      DOVETAIL_TRY(add_terms(part, {channels.begin() + first, channels.begin() + static_cast<std::ptrdiff_t>(end)}));
      for (MoveSpec::Term& term : part.terms) {
        term.rows = {term.rows.first, rows.step, rows.count};
        term.columns = {term.columns.first, columns.step, columns.count};
      }
      if (begins_ && continues(parts_.back(), part)) ++parts_.back().blocks;
      else parts_.push_back(std::move(part));
      begins_ = true;
    }
    begins_ = false;
    return {};
  }

  // Adds the terms of a block of channels.
  Result<void> add_terms(MoveSpec& part, std::span<const Source> channels) const {
    std::optional<std::int64_t> constant;
    for (std::size_t o = 0; o < channels.size(); ++o) {
      const Source& source = channels[o];
      if (source.is_constant()) {
        if (constant && *constant != source.value) return refusal("its constants differ within a block of channels");
        constant = source.value;
        continue;
      }
      const std::int64_t block = source.channel / block_;
      auto same = std::ranges::find_if(part.terms, [&](const MoveSpec::Term& term) {
        return static_cast<std::int64_t>(term.input) == source.input && term.first_block == block &&
               term.rows.first == source.row && term.columns.first == source.column;
      });
      if (same == part.terms.end()) {
        MoveSpec::Term term;
        term.input = static_cast<std::size_t>(source.input);
        term.first_block = block;
        term.rows.first = source.row;
        term.columns.first = source.column;
        term.channels.assign(static_cast<std::size_t>(block_), -1);
        same = part.terms.insert(part.terms.end(), std::move(term));
      }
      same->channels[o] = source.channel % block_;
    }
    if (part.terms.empty()) part.fill = static_cast<std::int32_t>(*constant);
    else if (constant.value_or(0) != 0) return refusal("a block of channels has both constants and values");
    // Channels beyond the result's may have any value, so that whole blocks may be copied.
    if (part.terms.size() == 1 && !constant) {
      bool whole = true;
      for (std::size_t o = 0; o < channels.size(); ++o)
        whole = whole && part.terms[0].channels[o] == static_cast<std::int64_t>(o);
      if (whole) part.terms[0].channels.clear();
    }
    return {};
  }

  // Whether the next block of channels is moved like the previous ones. The last block may select fewer channels.
  bool continues(const MoveSpec& before, const MoveSpec& next) const {
    if (before.terms.size() != next.terms.size() || before.fill != next.fill) return false;
    for (std::size_t t = 0; t < next.terms.size(); ++t) {
      const MoveSpec::Term &a = before.terms[t], &b = next.terms[t];
      if (a.input != b.input || a.first_block + before.blocks != b.first_block || a.rows.first != b.rows.first ||
          a.columns.first != b.columns.first || a.channels != b.channels)
        return false;
    }
    return true;
  }

  std::span<const std::int32_t> sources_;
  std::span<const ImageShape> inputs_;
  const ImageShape& result_;
  const std::int64_t block_;
  std::vector<MoveSpec> parts_;
  bool begins_ = false;  // whether the last part belongs to the current box
};

}  // namespace

namespace {

// Whether operands and result have one layout, and their last axis is one axis: computed element by element, or moved
// along the last axis.
bool shares_rows(const graph::Graph& graph, const graph::Node& node) {
  static constexpr std::string_view kElementwise[] = {"TensorScatter", "dovetail.qadd", "dovetail.qclip",
                                                      "dovetail.qmul", "dovetail.qtable"};
  const auto shape = [&](graph::ValueId value) -> const Shape& { return graph.value(value).type.shape; };
  if (std::ranges::find(kElementwise, node.op) != std::end(kElementwise)) return true;
  if (node.op != "Slice" && node.op != "Concat") return false;
  const Shape &x = shape(node.inputs[0]), &y = shape(node.outputs[0]);
  return std::equal(x.begin(), x.end() - 1, y.begin(), y.end() - 1);
}

std::vector<graph::NodeId> neighbors(const graph::Graph& graph, graph::ValueId value) {
  std::vector<graph::NodeId> nodes = graph.users(value);
  if (const graph::NodeId producer = graph.value(value).producer; producer.valid()) nodes.push_back(producer);
  return nodes;
}

bool works_on_rows(const graph::Node& node) {
  if (node.op == "dovetail.qmatmul") return true;
  if (node.op != "dovetail.qsoftmax" && node.op != "dovetail.qnormalize") return false;
  const std::int64_t axis = graph::int_attribute(node, "axis", -1);
  return axis == -1 || axis == 3;
}

// Whether the node moves its operand on to a product of two activations.
bool moves_to_product(const graph::Graph& graph, const graph::Node& node) {
  static constexpr std::string_view kMovers[] = {"Expand", "Reshape", "Transpose", "Unsqueeze"};
  if (std::ranges::find(kMovers, node.op) == std::end(kMovers)) return false;
  return std::ranges::any_of(graph.users(node.outputs[0]), [&](graph::NodeId id) {
    return graph.node(id).op == "dovetail.qmatmul" || moves_to_product(graph, graph.node(id));
  });
}

}  // namespace

bool rows_are_pixels(const graph::Graph& graph, graph::ValueId value) {
  const std::size_t rank = graph.value(value).type.shape.size();
  if (rank != 2 && rank != 4) return rank > 2;
  if (std::ranges::any_of(neighbors(graph, value),
                          [&](graph::NodeId id) { return graph.node(id).op == "dovetail.qmatmul"; }))
    return true;
  if (rank == 2)  // a mask has the form of the scores
    return std::ranges::any_of(graph.users(value), [&](graph::NodeId id) {
      const graph::Node& node = graph.node(id);
      return node.op == "dovetail.qsoftmax" && node.inputs[0] != value && rows_are_pixels(graph, node.inputs[0]);
    });
  std::vector<graph::ValueId> open{value};
  std::set<graph::ValueId> seen{value};
  bool any = false;
  while (!open.empty()) {
    const graph::ValueId at = open.back();
    open.pop_back();
    for (const graph::NodeId id : neighbors(graph, at)) {
      const graph::Node& node = graph.node(id);
      if (node.op == "dovetail.qconv" || node.op == "MaxPool") return false;
      any = any || works_on_rows(node) || (graph.value(at).producer != id && moves_to_product(graph, node));
      if (!shares_rows(graph, node)) continue;
      for (const std::vector<graph::ValueId>* side : {&node.inputs, &node.outputs})
        for (const graph::ValueId other : *side)
          if (other.valid() && !graph.is_constant(other) && graph.value(other).type.shape.size() == 4 &&
              seen.insert(other).second)
            open.push_back(other);
    }
  }
  return any;
}

ImageShape matrix_shape(std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  return {batch, columns, 1, (rows + batch - 1) / batch, rows};
}

ImageShape image_shape(const graph::Graph& graph, graph::ValueId value, const Core& config) {
  const Shape& shape = graph.value(value).type.shape;
  const std::int64_t columns = shape.empty() ? 1 : shape.back(),
                     rows = columns == 0 ? 0 : element_count(shape) / columns;
  if (rows_are_pixels(graph, value)) return matrix_shape(rows, columns, config.batch);
  if (shape.size() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  return {rows, columns, 1, 1};
}

TensorLayout make_layout(const Core& config, const ImageShape& shape) {
  TensorLayout layout = make_layout(config, shape.n, shape.c, shape.h, shape.w);
  layout.rows = shape.rows;
  return layout;
}

Result<std::vector<MoveSpec>> plan_moves(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                         const ImageShape& result, std::int64_t block) {
  return Planner(sources, inputs, result, block).plan();
}

std::vector<Layout::Fold> folds_of_move(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                        const ImageShape& result) {
  if (inputs.size() != 1 || element_count({result.n, result.c, result.h, result.w}) == 0 || result.rows > 0 ||
      inputs[0].rows > 0)
    return {};
  const ImageShape& x = inputs[0];
  const std::int64_t rows = result.h / x.h, columns = result.w / x.w;
  if (rows * columns < 2 || x != ImageShape{x.n, result.c * rows * columns, x.h, x.w} || x.n != result.n ||
      x.h * rows != result.h || x.w * columns != result.w)
    return {};
  // CRD: the phases of a result's channel are consecutive; DCR: the channels of a phase are.
  const auto is_depth_to_space = [&](bool within) {
    std::size_t at = 0;
    for (std::int64_t n = 0; n < result.n; ++n)
      for (std::int64_t c = 0; c < result.c; ++c)
        for (std::int64_t row = 0; row < result.h; ++row)
          for (std::int64_t column = 0; column < result.w; ++column) {
            const std::int64_t phase = row % rows * columns + column % columns;
            const std::int64_t channel = within ? c * rows * columns + phase : phase * result.c + c;
            const std::int64_t source = ((n * x.c + channel) * x.h + row / rows) * x.w + column / columns;
            if (sources[at++] != kFirstSource + source) return false;
          }
    return true;
  };
  const bool within = is_depth_to_space(true);
  if (!within && !is_depth_to_space(false)) return {};
  constexpr std::size_t kChannelAxis = 1, kRowAxis = 2, kColumnAxis = 3;
  const Layout::Fold of_columns{kColumnAxis, kChannelAxis, columns, x.w, columns, 1, 0, within},
      of_rows{kRowAxis, kChannelAxis, rows, x.h, rows, 1, 0, within};
  // The columns of a phase are next to each other.
  std::vector<Layout::Fold> folds{within ? of_rows : of_columns, within ? of_columns : of_rows};
  std::erase_if(folds, [](const Layout::Fold& fold) { return fold.taps == 1; });
  return folds;
}

}  // namespace dovetail::accel
