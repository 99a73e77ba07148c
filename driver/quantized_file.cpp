#include "driver/quantized_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compiler/export/onnx.h"
#include "compiler/passes/fold_constants.h"

namespace dovetail::driver {

namespace {

using graph::Graph;
using graph::ValueId;

constexpr std::int64_t kOtherBatch = 2;

// The symbol of the first extent: "batch" of "float32[batch, 3]"; empty: it has no name.
std::string first_symbol(std::string_view type) {
  const std::size_t begin = type.find('[');
  if (begin == std::string_view::npos) return {};
  const std::string_view extents = type.substr(begin + 1);
  const std::string symbol(extents.substr(0, extents.find_first_of(",]")));
  return symbol == "?" ? "" : symbol;
}

// The only axis along which the shapes differ, where the second one has the other batch's multiple of the first.
std::optional<std::size_t> batch_axis(const Shape& one, const Shape& other) {
  if (one.size() != other.size()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] == other[i]) continue;
    if (axis || other[i] != kOtherBatch * one[i]) return std::nullopt;
    axis = i;
  }
  return axis;
}

// The float model with two batches.
struct TwoBatches {
  Graph one, other;
  std::map<std::string, std::string> symbols;  // of inputs with an open batch

  std::optional<std::pair<Shape, Shape>> shapes(const std::string& name) const {
    const auto in_one = one.find_value(name), in_other = other.find_value(name);
    if (!in_one || !in_other) return std::nullopt;
    return std::pair(one.value(*in_one).type.shape, other.value(*in_other).type.shape);
  }
  // Whether the value is a constant that depends on the batch.
  bool is_other_constant(const std::string& name) const {
    const auto in_one = one.find_value(name), in_other = other.find_value(name);
    if (!in_one || !in_other || !one.is_constant(*in_one)) return false;
    if (!other.is_constant(*in_other)) return true;
    const NdArray &a = *one.value(*in_one).constant, &b = *other.value(*in_other).constant;
    return a.shape() != b.shape() || !std::ranges::equal(a.bytes(), b.bytes());
  }
};

// nullopt: no batch is open, or it may not be another one.
std::optional<TwoBatches> with_two_batches(const import::Imported& model, const std::filesystem::path& path,
                                           const import::ImportOptions& options) {
  const auto bytes = import::read_onnx_file(path);
  if (!bytes.ok()) return std::nullopt;
  const auto outline = import::outline_onnx(*bytes, path.string());
  import::ImportOptions other = options;
  other.batch = kOtherBatch;
  if (other.external_data_folder.empty()) other.external_data_folder = import::external_data_folder(path);
  auto imported = import::import_onnx(*bytes, path.string(), other);
  if (!outline.ok() || !imported.ok()) return std::nullopt;
  TwoBatches both{model.graph, std::move(imported->graph), {}};
  for (const import::OnnxOutline::Border& input : outline->inputs)
    if (const auto shapes = both.shapes(input.name); shapes && batch_axis(shapes->first, shapes->second) == 0)
      both.symbols[input.name] = first_symbol(input.type);
  if (both.symbols.empty()) return std::nullopt;
  if (!passes::fold_constants(both.one, {}).ok() || !passes::fold_constants(both.other, {}).ok()) return std::nullopt;
  return both;
}

// A Reshape to a constant shape gets -1 for the extent that has the batch.
void open_reshapes(Graph& graph, const TwoBatches& both) {
  for (const graph::NodeId id : graph.live_nodes()) {
    const graph::Node& node = graph.node(id);
    if (node.op != "Reshape" || node.inputs.size() < 2 || !graph.is_constant(node.inputs[1])) continue;
    const auto shapes = both.shapes(graph.value(node.outputs[0]).name);
    if (!shapes) continue;
    const auto axis = batch_axis(shapes->first, shapes->second);
    if (!axis) continue;
    std::vector<std::int64_t> extents = shapes->first;
    if (std::ranges::count(extents, 0) > 0) continue;  // would mean another extent
    extents[*axis] = -1;
    const std::string name = graph.value(node.inputs[1]).name;
    const ValueId open = graph.add_constant(
        name + "_open", NdArray::from<std::int64_t>({static_cast<std::int64_t>(extents.size())}, extents));
    graph.edit(id)->inputs[1] = open;
  }
}

// Why the nodes of the float model compute something else for another batch, except for more samples; empty: they do
// not. The operands of a Reshape and an Expand that have a shape may differ.
std::string dependence(const TwoBatches& both) {
  const std::vector<graph::NodeId> nodes = both.one.live_nodes(), others = both.other.live_nodes();
  if (nodes.size() != others.size()) return "the model has other nodes for another batch";
  for (const graph::NodeId id : nodes) {
    const graph::Node& node = both.one.node(id);
    const auto found = both.other.find_node(node.name);
    if (!found || both.other.node(*found).op != node.op || both.other.node(*found).attributes != node.attributes)
      return fmt::format("{} depends on the batch", node.name);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (i == 1 && (node.op == "Reshape" || node.op == "Expand")) continue;
      if (both.one.is_constant(input) && both.is_other_constant(both.one.value(input).name))
        return fmt::format("the constant {} of {} depends on the batch", both.one.value(input).name, node.name);
    }
  }
  return {};
}

// Why the file is not the model for another batch; empty: it is.
std::string difference(const std::vector<std::byte>& bytes, const TwoBatches& both, const std::string& where) {
  if (std::string why = dependence(both); !why.empty()) return why;
  import::ImportOptions options;
  options.batch = kOtherBatch;
  const auto again = import::import_onnx(bytes, where, options);
  if (!again.ok()) return fmt::format("{}: {}", again.errors().front().where, again.errors().front().why);
  for (const graph::Value& value : again->graph.values)
    if (const auto shapes = both.shapes(value.name);
        shapes && !value.constant.has_value() && shapes->second != value.type.shape)
      return fmt::format("the shape of {} does not follow the batch", value.name);
  return {};
}

}  // namespace

Result<QuantizedFile> quantized_file(const Graph& quantized, const import::Imported& model,
                                     const std::filesystem::path& path, const import::ImportOptions& options,
                                     const std::string& where, const std::map<std::string, std::string>& metadata) {
  QuantizedFile file;
  if (const auto both = with_two_batches(model, path, options)) {
    Graph open = quantized;
    open_reshapes(open, *both);
    OpenExtents extents;
    for (const auto& [input, symbol] : both->symbols) extents[input][0] = symbol;
    for (const ValueId output : open.outputs)
      if (const auto shapes = both->shapes(open.value(output).name))
        for (std::size_t i = 0; i < std::min(shapes->first.size(), shapes->second.size()); ++i)
          if (shapes->first[i] != shapes->second[i])
            extents[open.value(output).name][i] = i == 0 ? both->symbols.begin()->second : "";
    DOVETAIL_ASSIGN(file.bytes, export_onnx(open, where, metadata, extents));
    file.note = difference(file.bytes, *both, where);
    if (file.note.empty()) return file;
    file.note = fmt::format("the batch of the quantized model is fixed to that of the samples' runs: {}", file.note);
  }
  DOVETAIL_ASSIGN(file.bytes, export_onnx(quantized, where, metadata));
  return file;
}

}  // namespace dovetail::driver
