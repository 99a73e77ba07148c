#include "compiler/layout/choose_layouts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/layout/layout.h"
#include "compiler/layout/layout_problem.h"

namespace dovetail {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// Starting a kernel costs about as much as moving this many bytes.
constexpr double kStartBytes = 16 << 10;

struct Reader {
  std::size_t variable;
  NodeId kernel;  // invalid: the model's output
};

class Chooser {
 public:
  Chooser(const Graph& graph, const LayoutOptions& options) : graph_(graph), options_(options) {}

  LayoutPlan run(std::span<const KernelOffer> offers) {
    for (const KernelOffer& kernel : offers) add(kernel);
    add_borders();
    for (const auto& [value, writer] : writers_) {
      const double bytes = 2 * static_cast<double>(layout_bytes(graph_.value(value).type, ""));
      LayoutProblem::Value entry{kStartBytes + bytes, writer, {}};
      for (const Reader& reader : readers_[value]) entry.readers.push_back(reader.variable);
      problem_.values.push_back(std::move(entry));
    }
    choice_ = options_.choose ? solve(problem_) : LayoutChoice(problem_.variables.size(), 0);
    record();
    return std::move(plan_);
  }

 private:
  std::size_t add_variable(std::vector<std::string> layouts, std::vector<double> costs = {}) {
    costs.resize(layouts.size(), 0);
    problem_.variables.push_back({std::move(layouts), std::move(costs)});
    return problem_.variables.size() - 1;
  }

  void add(const KernelOffer& kernel) {
    const std::size_t first = problem_.variables.size();
    for (const LayoutVariable& variable : kernel.variables) {
      const std::size_t index = add_variable(variable.layouts, variable.costs);
      for (const ValueId value : variable.reads)
        if (!graph_.is_constant(value)) readers_[value].push_back({index, kernel.last});
      for (const ValueId value : variable.writes) writers_[value] = index;
    }
    for (const KernelOffer::Passage& passage : kernel.passages)
      problem_.values.push_back({passage.cost, first + passage.from, {first + passage.to}});
  }

  // The model's inputs and outputs have the model's layout, or any layout that a kernel offers.
  void add_borders() {
    std::set<std::string> known;
    for (const LayoutProblem::Variable& variable : problem_.variables)
      known.insert(variable.layouts.begin(), variable.layouts.end());
    const auto border = [&](ValueId value) -> std::vector<std::string> {
      std::vector<std::string> layouts{""};
      // A value that the run truncates to its extent has the model's layout.
      const bool cut = std::ranges::any_of(graph_.extents, [&](const graph::OutputExtent& row) {
        return row.output == graph_.value(value).name || row.extent == graph_.value(value).name;
      });
      if (!options_.free_borders || cut) return layouts;
      for (const std::string& layout : known)
        if (const auto parsed = parse_layout(layout, graph_.value(value).type.shape);
            !layout.empty() && parsed.ok() && parsed->folds.empty() && parsed->view == parsed->framed())
          layouts.push_back(layout);
      return layouts;
    };
    for (const ValueId input : graph_.inputs) writers_[input] = add_variable(border(input));
    for (const ValueId output : graph_.outputs)
      if (!graph_.is_constant(output)) readers_[output].push_back({add_variable(border(output)), {}});
  }

  const std::string& layout_of(std::size_t variable) const {
    return problem_.variables[variable].layouts[choice_[variable]];
  }

  void record() {
    for (const auto& [value, writer] : writers_) {
      const std::string& from = plan_.chosen.writes[value] = layout_of(writer);
      std::map<std::string, std::vector<NodeId>> copies;
      for (const Reader& reader : readers_[value]) {
        const std::string& to = layout_of(reader.variable);
        if (reader.kernel.valid()) plan_.chosen.reads[{reader.kernel, value}] = to;
        else plan_.chosen.outputs[value] = to;
        if (to == from) continue;
        std::vector<NodeId>& wanted_by = copies[to];
        if (reader.kernel.valid()) wanted_by.push_back(reader.kernel);
      }
      const graph::TensorType& type = graph_.value(value).type;
      for (auto& [to, wanted_by] : copies)
        plan_.relayouts.push_back(
            {value, from, to, layout_bytes(type, from) + layout_bytes(type, to), std::move(wanted_by)});
    }
  }

  const Graph& graph_;
  const LayoutOptions& options_;
  LayoutPlan plan_;
  LayoutProblem problem_;
  LayoutChoice choice_;
  std::map<ValueId, std::size_t> writers_;  // variable that determines the written layout of the value
  std::map<ValueId, std::vector<Reader>> readers_;
};

std::string shown(const std::string& layout) { return layout.empty() ? "plain" : layout; }

}  // namespace

LayoutPlan choose_layouts(const Graph& graph, std::span<const KernelOffer> offers, const LayoutOptions& options) {
  return Chooser(graph, options).run(offers);
}

std::string to_string(const Graph& graph, std::span<const KernelOffer> offers) {
  std::string text;
  for (const KernelOffer& kernel : offers) {
    text += fmt::format("kernel of {}\n", graph.node(kernel.last).name);
    for (const LayoutVariable& variable : kernel.variables) {
      std::vector<std::string> words, layouts;
      for (const ValueId value : variable.reads) words.push_back("reads " + graph.value(value).name);
      for (const ValueId value : variable.writes) words.push_back("writes " + graph.value(value).name);
      for (const std::string& layout : variable.layouts) layouts.push_back(shown(layout));
      text += fmt::format("  {}: {}\n", fmt::join(words, ", "), fmt::join(layouts, " or "));
    }
  }
  return text;
}

std::string to_string(const Graph& graph, const LayoutPlan& plan) {
  std::string text;
  for (const auto& [value, layout] : plan.chosen.writes)
    if (!layout.empty())
      text += fmt::format("{}: {} has layout {}\n", graph.value(value).name, graph::to_string(graph.value(value).type),
                          layout);
  for (const Relayout& relayout : plan.relayouts) {
    std::vector<std::string> readers;
    for (const NodeId reader : relayout.readers) readers.push_back(graph.node(reader).name);
    text += fmt::format("copy {}: {} -> {}, {} bytes, for {}\n", graph.value(relayout.value).name, shown(relayout.from),
                        shown(relayout.to), relayout.bytes,
                        readers.empty() ? "the model's output" : fmt::format("{}", fmt::join(readers, ", ")));
  }
  return text.empty() ? "all values have the model's layout\n" : text;
}

}  // namespace dovetail
