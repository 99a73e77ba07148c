#include "driver/model_source.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "compiler/export/onnx.h"
#include "compiler/graph/extract.h"
#include "compiler/shapes/build_layers.h"
#include "compiler/shapes/layer_text.h"
#include "compiler/shapes/topology_csv.h"
#include "driver/names.h"
#include "driver/shapes/layer_yaml.h"

namespace dovetail::driver {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr std::size_t kMostShapeBytes = std::size_t{1} << 26;

bool is_topology(std::string_view path) { return path.ends_with(".csv"); }
bool is_yaml(std::string_view path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

Result<std::vector<shapes::Layer>> layers_of(const ModelSource& source) {
  if (!source.path.empty()) {
    DOVETAIL_ASSIGN(const std::string text, read_text_file(source.path, kMostShapeBytes));
    return is_topology(source.path) ? shapes::read_topology(text, source.path) : read_layer_yaml(text, source.path);
  }
  std::vector<shapes::Layer> layers;
  Diagnostics problems;
  for (const std::string& text : source.layers) {
    auto layer = shapes::parse_layer(text);
    if (layer.ok()) layers.push_back(*std::move(layer));
    else problems.insert(problems.end(), layer.errors().begin(), layer.errors().end());
  }
  if (!problems.empty()) return problems;
  return layers;
}

Result<import::Imported> built(const ModelSource& source) {
  DOVETAIL_ASSIGN(std::vector<shapes::Layer> layers, layers_of(source));
  layers = shapes::named(std::move(layers));
  import::Imported imported;
  DOVETAIL_ASSIGN(imported.graph, shapes::build_layers(source.title(), layers));
  imported.report.producer = "shapes";
  for (const NodeId node : imported.graph.live_nodes()) ++imported.report.operators[imported.graph.node(node).op];
  imported.report.notes.push_back(
      fmt::format("{} layer{} given by shape: int8, pseudo-random weights, each with its own "
                  "input and output in memory",
                  layers.size(), layers.size() == 1 ? "" : "s"));
  return imported;
}

// ---- Parts
// ----------------------------------------------------------------------------------------------------------------------

class Selector {
 public:
  Selector(const Graph& graph, const ModelPart& part, const std::string& where)
      : graph_(graph), part_(part), where_(where) {}

  Result<Graph> run() {
    for (const std::string& pattern : part_.only) add_matching(pattern);
    if (!part_.from.empty() || !part_.to.empty()) DOVETAIL_TRY(add_between());
    if (!problems_.empty()) return problems_;
    for (const NodeId node : std::set(selected_)) {
      add_before(node);
      add_after(node);
    }
    std::erase_if(selected_, [&](NodeId node) { return ends_in_float(node); });
    for (const NodeId node : std::set(selected_)) add_constants(node);
    Graph part = graph::extract(graph_, selected_);
    part.apart = true;
    return part;
  }

 private:
  void add_matching(const std::string& pattern) {
    bool matches = false;
    const auto fits = [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (!(node.name == pattern || fits(node.name) || std::ranges::any_of(node.origins, fits))) continue;
      selected_.insert(id);
      matches = true;
    }
    if (matches) return;
    std::vector<std::string> names;
    for (const NodeId id : graph_.topological_order()) names.push_back(graph_.node(id).name);
    constexpr std::size_t kMost = 20;
    const std::size_t all = names.size();
    if (all > kMost) names.resize(kMost);
    problems_.push_back(
        {"invalid value for --only", pattern, fmt::format("{} has no node of such a name", where_),
         fmt::format("the nodes are {}{}; * stands for any characters", fmt::join(names, ", "),
                     all > kMost ? fmt::format(" and {} more (`dovetail inspect` lists them)", all - kMost) : "")});
  }

  Result<ValueId> tensor(std::string_view option, const std::string& given) const {
    std::vector<std::string> names;
    for (const graph::Value& value : graph_.values)
      if (!value.constant) names.push_back(value.name);
    DOVETAIL_ASSIGN(const std::string name, match_name(option, "tensor", names, given));
    return *graph_.find_value(name);
  }

  Result<void> add_between() {
    std::set<NodeId> after, before;
    std::vector<NodeId> open;
    const auto visit = [&](std::set<NodeId>& known, NodeId node) {
      if (node.valid() && known.insert(node).second) open.push_back(node);
    };
    for (const std::string& name : part_.from) {
      DOVETAIL_ASSIGN(const ValueId value, tensor("--from", name));
      for (const NodeId user : graph_.users(value)) visit(after, user);
    }
    while (!open.empty()) {
      const Node& node = graph_.node(open.back());
      open.pop_back();
      for (const ValueId output : node.outputs)
        if (output.valid())
          for (const NodeId user : graph_.users(output)) visit(after, user);
    }
    if (part_.to.empty())
      for (const ValueId output : graph_.outputs) visit(before, graph_.value(output).producer);
    for (const std::string& name : part_.to) {
      DOVETAIL_ASSIGN(const ValueId value, tensor("--to", name));
      visit(before, graph_.value(value).producer);
    }
    while (!open.empty()) {
      const Node& node = graph_.node(open.back());
      open.pop_back();
      for (const ValueId input : node.inputs)
        if (input.valid()) visit(before, graph_.value(input).producer);
    }
    const std::size_t had = selected_.size();
    for (const NodeId node : before)
      if (part_.from.empty() || after.contains(node)) selected_.insert(node);
    if (selected_.size() == had)
      return Diagnostic{
          "cannot take the part of the model",
          fmt::format("{}, --from {} --to {}", where_, fmt::join(part_.from, ", "), fmt::join(part_.to, ", ")),
          "no node is on a way between these tensors", "choose a tensor that the other depends on"};
    return {};
  }

  bool is_op(NodeId node, std::string_view op) const { return node.valid() && graph_.node(node).op == op; }

  // DequantizeLinear of what the node reads.
  void add_before(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs)
      if (input.valid() && is_op(graph_.value(input).producer, "DequantizeLinear"))
        selected_.insert(graph_.value(input).producer);
  }

  // Whether everything but `through` that the node reads is known without running.
  bool reads_constants(const Node& node, ValueId through) const {
    return std::ranges::all_of(
        node.inputs, [&](ValueId input) { return !input.valid() || input == through || depends_on_constants(input); });
  }
  bool depends_on_constants(ValueId id) const {
    const graph::Value& value = graph_.value(id);
    if (value.constant) return true;
    if (!value.producer.valid()) return false;
    const Node& node = graph_.node(value.producer);
    return node.subgraphs.empty() && std::ranges::all_of(node.inputs, [&](ValueId input) {
             return !input.valid() || depends_on_constants(input);
           });
  }

  // What follows a node up to a QuantizeLinear, if there is one.
  void add_after(NodeId id) {
    std::vector<NodeId> chain;
    while (true) {
      const Node& node = graph_.node(id);
      if (node.op == "QuantizeLinear" || node.outputs.size() != 1) break;
      const std::vector<NodeId> users = graph_.users(node.outputs[0]);
      const auto last = std::ranges::find_if(users, [&](NodeId user) { return is_op(user, "QuantizeLinear"); });
      if (last != users.end()) {
        chain.push_back(*last);
        selected_.insert(chain.begin(), chain.end());
        return;
      }
      if (users.size() != 1 || selected_.contains(users[0]) || !reads_constants(graph_.node(users[0]), node.outputs[0]))
        return;
      chain.push_back(users[0]);
      id = users[0];
    }
  }

  // A DequantizeLinear of a selected QuantizeLinear, of whose numbers the part makes no use.
  bool ends_in_float(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op != "DequantizeLinear") return false;
    const NodeId before = graph_.value(node.inputs[0]).producer;
    return is_op(before, "QuantizeLinear") && selected_.contains(before) &&
           std::ranges::none_of(graph_.users(node.outputs[0]), [&](NodeId user) { return selected_.contains(user); });
  }

  void add_constants(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      if (!input.valid() || !depends_on_constants(input)) continue;
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid() && selected_.insert(producer).second) add_constants(producer);
    }
  }

  const Graph& graph_;
  const ModelPart& part_;
  const std::string& where_;
  std::set<NodeId> selected_;
  Diagnostics problems_;
};

std::string border(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> texts;
  for (const ValueId id : values)
    texts.push_back(fmt::format("{}: {}", graph.value(id).name, graph::to_string(graph.value(id).type)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::set<std::filesystem::path> data_files_of(const std::filesystem::path& model) {
  const auto imported = import::import_onnx_file(model);
  return imported.ok() ? imported->report.data_files : std::set<std::filesystem::path>();
}

bool has_shapes(std::string_view path) { return is_topology(path) || is_yaml(path); }

bool ModelSource::is_onnx_file() const { return layers.empty() && !has_shapes(path) && part.is_whole(); }

std::string ModelSource::title() const {
  std::string text = !path.empty()        ? path
                     : layers.size() == 1 ? layers.front()
                                          : fmt::format("{} layers", layers.size());
  if (!part.only.empty()) text += fmt::format(" --only {}", fmt::join(part.only, " --only "));
  if (!part.from.empty()) text += fmt::format(" --from {}", fmt::join(part.from, " --from "));
  if (!part.to.empty()) text += fmt::format(" --to {}", fmt::join(part.to, " --to "));
  return text;
}

std::string ModelSource::name() const {
  if (path.empty() && part.is_whole()) return title();
  const std::filesystem::path file(path);
  // Models are often stored as MODEL/model.onnx.
  std::string text =
      file.stem() == "model" && file.has_parent_path() ? file.parent_path().filename().string() : file.stem().string();
  if (path.empty()) text = title();
  for (const auto* names : {&part.only, &part.from, &part.to})
    for (const std::string& name : *names) text += " " + name;
  return text;
}

std::string ModelSource::words() const {
  std::string text = path.empty() ? "" : shell_word(path);
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, shell_word(value));
  };
  add("--layer", layers);
  add("--only", part.only);
  add("--from", part.from);
  add("--to", part.to);
  return text;
}

Result<Graph> select_part(const Graph& graph, const ModelPart& part, const std::string& where) {
  return Selector(graph, part, where).run();
}

Result<import::Imported> import_source(const ModelSource& source, import::ImportOptions options) {
  if (!source.path.empty() && !source.layers.empty())
    return Diagnostic{"cannot read the model", source.path, "--layer gives layers without a model, next to this file",
                      "give a file or --layer"};
  const bool is_file = source.layers.empty() && !has_shapes(source.path);
  DOVETAIL_ASSIGN(import::Imported imported,
                  is_file ? import::import_onnx_file(source.path, std::move(options)) : built(source));
  if (source.part.is_whole()) return imported;
  const std::size_t all = imported.graph.live_nodes().size();
  DOVETAIL_ASSIGN(imported.graph,
                  select_part(imported.graph, source.part, source.path.empty() ? "the model" : source.path));
  imported.report.operators.clear();
  for (const NodeId node : imported.graph.live_nodes()) ++imported.report.operators[imported.graph.node(node).op];
  imported.report.notes.push_back(
      fmt::format("{} of {} nodes; inputs {}; outputs {}", imported.graph.live_nodes().size(), all,
                  border(imported.graph, imported.graph.inputs), border(imported.graph, imported.graph.outputs)));
  return imported;
}

Result<std::optional<std::vector<std::byte>>> content_of(const ModelSource& source) {
  if (source.is_onnx_file()) return std::optional<std::vector<std::byte>>();
  DOVETAIL_ASSIGN(const import::Imported imported, import_source(source, {}));
  DOVETAIL_ASSIGN(std::vector<std::byte> bytes, export_onnx(imported.graph, source.title(), imported.report.metadata));
  return std::optional(std::move(bytes));
}

}  // namespace dovetail::driver
