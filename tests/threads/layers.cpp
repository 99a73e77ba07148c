#include "tests/threads/layers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "loops/print.h"

namespace dovetail::test {

namespace {

using graph::Graph, graph::NodeId, graph::ValueId;

// Which dimensions are halved: of tensors that are not constants, or of all tensors.
struct Way {
  const char* name;
  bool constants;
  // Whether this axis of a tensor of that rank may be halved.
  bool (*takes)(std::size_t axis, std::size_t rank);
};
constexpr std::array<Way, 6> kWays{{
    {"rows and columns", false, [](std::size_t axis, std::size_t) { return axis >= 2; }},
    {"all but the last", false, [](std::size_t axis, std::size_t rank) { return axis + 1 < rank; }},
    {"the first", false, [](std::size_t axis, std::size_t) { return axis == 0; }},
    {"the last", false, [](std::size_t axis, std::size_t rank) { return axis + 1 == rank; }},
    {"all", false, [](std::size_t, std::size_t) { return true; }},
    {"all, of constants too", true, [](std::size_t, std::size_t) { return true; }},
}};

// The first elements in each dimension.
NdArray corner(const NdArray& array, const Shape& shape) {
  if (array.shape() == shape) return array;
  NdArray made(array.dtype(), shape);
  const auto bytes = static_cast<std::size_t>(size_bytes(array.dtype()));
  std::vector<std::int64_t> place(shape.size(), 0);
  for (std::int64_t i = 0; i < made.count(); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) from = from * array.shape()[d] + place[d];
    std::memcpy(made.bytes().data() + static_cast<std::size_t>(i) * bytes,
                array.bytes().data() + static_cast<std::size_t>(from) * bytes, bytes);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++place[d] < shape[d]) break;
      place[d] = 0;
    }
  }
  return made;
}

// A halving of one extent.
struct Cut {
  const Way* way;
  std::int64_t from;
  std::int64_t to() const { return (from + 1) / 2; }

  void apply(Shape& shape, bool constant) const {
    if (constant && !way->constants) return;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == from && way->takes(axis, shape.size())) shape[axis] = to();
  }
};

// Only the nodes of a group, after these cuts. nullopt: operators refuse them.
std::optional<Graph> alone(const Graph& whole, const std::vector<NodeId>& nodes, const std::vector<Cut>& cuts) {
  Graph made;
  made.name = whole.name;
  std::map<ValueId, ValueId> known;
  std::set<ValueId> read;
  for (const NodeId id : nodes) {
    const graph::Node& node = whole.node(id);
    graph::Node copy{node.name, node.op, {}, {}, node.attributes, node.origins};
    for (const ValueId input : node.inputs) {
      if (!input.valid()) {
        copy.inputs.push_back(input);
        continue;
      }
      auto at = known.find(input);
      if (at == known.end()) {
        const graph::Value& value = whole.value(input);
        Shape shape = value.type.shape;
        for (const Cut& cut : cuts) cut.apply(shape, value.constant.has_value());
        const ValueId own = value.constant ? made.add_constant(value.name, corner(*value.constant, shape))
                                           : made.add_value(value.name, {value.type.dtype, shape});
        if (!value.constant) made.inputs.push_back(own);
        at = known.emplace(input, own).first;
      }
      copy.inputs.push_back(at->second);
      read.insert(at->second);
    }
    for (const ValueId output : node.outputs) {
      const ValueId own = output.valid() ? made.add_value(whole.value(output).name, whole.value(output).type) : output;
      copy.outputs.push_back(own);
      if (output.valid()) known.emplace(output, own);
    }
    const NodeId own = made.add_node(std::move(copy));
    if (!ops::infer(made, own)) return std::nullopt;
  }
  for (const NodeId id : made.live_nodes())
    for (const ValueId output : made.node(id).outputs)
      if (output.valid() && !read.contains(output)) {
        if (element_count(made.value(output).type.shape) == 0) return std::nullopt;
        made.outputs.push_back(output);
      }
  return made;
}

struct State {
  Graph graph;
  std::vector<FusedGroup> groups;  // of the graph
  Work work;
};

std::shared_ptr<const State> state_of(std::optional<Graph> graph) {
  if (!graph) return nullptr;
  auto state = std::make_shared<State>(State{*std::move(graph), {}, {}});
  auto groups = fuse_groups(state->graph, state->graph.topological_order());
  if (!groups) return nullptr;
  state->groups = *std::move(groups);
  const auto work = work_of(state->groups);
  if (!work) return nullptr;
  state->work = *work;
  return state;
}

std::vector<std::int64_t> extents_of(const Graph& graph, const Way& way) {
  std::set<std::int64_t, std::greater<>> found;
  for (const graph::Value& value : graph.values)
    if (!value.producer.valid() && (way.constants || !value.constant))
      for (std::size_t axis = 0; axis < value.type.shape.size(); ++axis)
        if (value.type.shape[axis] > 1 && way.takes(axis, value.type.shape.size()))
          found.insert(value.type.shape[axis]);
  return {found.begin(), found.end()};
}

class Smaller {
 public:
  Smaller(const Graph& whole, const std::vector<NodeId>& nodes, const std::vector<Configuration>& configurations,
          Schedules& schedules, std::uint64_t most_steps)
      : whole_(whole), nodes_(nodes), configurations_(configurations), schedules_(schedules), most_steps_(most_steps) {}

  // Errors: the back end has no schedule for the layer as it is.
  Result<Layer> make(std::string name) {
    now_ = state_of(alone(whole_, nodes_, {}));
    if (!now_) return Diagnostic{"a layer cannot stand alone", name, "its operators refuse it", ""};
    Layer layer{std::move(name), {}};
    if (now_->work.steps > most_steps_) {
      DOVETAIL_ASSIGN(kinds_, kinds_of(now_->groups, configurations_, schedules_));
      layer.kinds_kept = keep_kinds();
    }
    layer.graph = now_->graph;
    for (const Cut& cut : cuts_) layer.cuts.push_back(fmt::format("{} -> {} of {}", cut.from, cut.to(), cut.way->name));
    return layer;
  }

 private:
  // Tries all cuts at once, then one way after the other, and where that is not enough allows other kinds.
  bool keep_kinds() {
    const std::shared_ptr<const State> before = now_;
    halve_constants();
    for (const Way& way : kWays) halve(way, most_steps_);
    if (has_kinds(*now_)) return true;
    now_ = before;
    cuts_.clear();
    for (const Way& way : kWays) halve_carefully(way);
    const bool enough = now_->work.steps <= most_steps_;
    for (const Way& way : kWays) halve(way, most_steps_);
    return enough || has_kinds(*now_);
  }

  std::uint64_t largest_constant() const {
    std::int64_t most = 0;
    for (const graph::Value& value : now_->graph.values)
      if (value.constant) most = std::max(most, value.constant->count());
    return static_cast<std::uint64_t>(most);
  }

  bool has_kinds(const State& state) const {
    const auto kinds = kinds_of(state.groups, configurations_, schedules_);
    return kinds.ok() && *kinds == kinds_;
  }

  // Each element of a constant takes a step, so only cutting it helps.
  void halve_constants() {
    while (largest_constant() > most_steps_) {
      const std::size_t count = cuts_.size();
      halve(kWays.back(), now_->work.steps - 1);
      if (cuts_.size() == count) return;
    }
  }

  // As far as necessary while the kinds stay: first all at once, as schedules take long, else one by one.
  void halve_carefully(const Way& way) {
    if (now_->work.steps <= most_steps_) return;
    const std::shared_ptr<const State> before = now_;
    const std::vector<Cut> cuts = cuts_;
    halve(way, most_steps_);
    if (cuts_.size() == cuts.size() || has_kinds(*now_)) return;
    now_ = before;
    cuts_ = cuts;
    while (now_->work.steps > most_steps_) {
      const std::shared_ptr<const State> last = now_;
      const std::size_t count = cuts_.size();
      halve(way, now_->work.steps - 1);
      if (cuts_.size() == count) return;
      if (has_kinds(*now_)) continue;
      now_ = last;
      cuts_.resize(count);
      return;
    }
  }

  // Halves the largest possible extent until at most that many steps are left, or no extent can be halved.
  void halve(const Way& way, std::uint64_t steps) {
    while (now_->work.steps > steps) {
      std::shared_ptr<const State> next;
      for (const std::int64_t extent : extents_of(now_->graph, way)) {
        cuts_.push_back({&way, extent});
        next = state_of(alone(whole_, nodes_, cuts_));
        if (next && next->work.steps < now_->work.steps) break;
        next = nullptr;
        cuts_.pop_back();
      }
      if (!next) return;
      now_ = std::move(next);
    }
  }

  const Graph& whole_;
  const std::vector<NodeId>& nodes_;
  const std::vector<Configuration>& configurations_;
  Schedules& schedules_;
  const std::uint64_t most_steps_;
  std::shared_ptr<const State> now_;
  std::vector<Cut> cuts_;
  std::vector<std::string> kinds_;  // of the whole layer
};

}  // namespace

Result<std::vector<Layer>> layers_of(const Graph& graph, const std::vector<Configuration>& configurations,
                                     Schedules& schedules, std::uint64_t most_steps) {
  DOVETAIL_ASSIGN(const std::vector<FusedGroup> groups, fuse_groups(graph, graph.topological_order()));
  std::set<std::string> known;
  std::vector<Layer> layers;
  for (const FusedGroup& group : groups) {
    std::string key = loops::to_string(group.program);
    for (const NdArray* constant : group.constants) key += constant != nullptr ? 'c' : 'v';
    if (!known.insert(std::move(key)).second) continue;
    const std::string& name = graph.node(group.anchor).name;
    DOVETAIL_ASSIGN(Layer layer, Smaller(graph, group.nodes, configurations, schedules, most_steps).make(name));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace dovetail::test
