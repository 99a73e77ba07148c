// The graph of every model after the passes, as a golden file; and properties of all of them: the clutter of exporters
// is gone, and no activation, bias or normalization is a separate kernel.
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "compiler/fuse/fuse.h"
#include "compiler/import/onnx.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "tests/e2e/models/sample.h"
#include "tests/targets.h"

namespace dovetail {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// The models that the importer accepts.
const std::vector<std::string> kGraphModels{
    "ad_autoencoder_f32", "ad_autoencoder_int8", "cct_2_32_opset20",
    "cifar10_cnn",        "kws_dscnn_int8",      "kws_dscnn_int8_qoperator",
    "kws_dscnn_w8",       "light_bvlc_alexnet",  "light_densenet121",
    "light_inception_v1", "light_inception_v2",  "light_resnet50",
    "light_shufflenet",   "light_squeezenet",    "light_zfnet512",
    "magika_v3_3",        "mnist_cnn",           "mobilenetv2_035_160_int8",
    "resnet8_f32",        "resnet8_int8",        "squeezenet1.1",
    "superres_x3",        "ultraface_slim_320",  "ultraface_slim_320_simplified",
    "vww96_f32",          "vww96_int8",          "vww96_int8_qoperator"};

struct Made {
  std::size_t imported = 0, integer = 0;
  Graph before, after;
  std::map<std::string, int> changes;  // by pass
  std::vector<FusedGroup> groups;
  std::string regions;
  std::uint64_t moved_bytes = 0, copied_bytes = 0;  // between targets; between layouts
  std::size_t copies = 0;
};

// How the accelerator and the CPU divide the model, and the bytes that cross between them.
void divide(const std::filesystem::path& file, Made& made) {
  CompileOptions options;
  options.available = test::kit_targets({}, "avx2");  // whichever machine this is
  options.targets = {"accel", "cpu"};
  options.stop_after = "layouts";
  auto model = import::import_onnx_file(file);
  auto compiled = compile(*std::move(model), options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  const Json& summary = compiled->report.at("summary");
  for (const Json& region : summary.at("regions"))
    made.regions += fmt::format("{}{} {}", made.regions.empty() ? "" : ", ", region.at("target").get<std::string>(),
                                region.at("operations").get<int>());
  made.moved_bytes = summary.at("moved_bytes").get<std::uint64_t>();
  for (const Json& copy : compiled->report.at("relayouts")) {
    ++made.copies;
    made.copied_bytes += copy.at("bytes").get<std::uint64_t>();
  }
}

Made make(const std::filesystem::path& file) {
  auto model = import::import_onnx_file(file);
  if (!model) FAIL(to_string(model.errors()));
  Made made;
  made.imported = model->graph.live_nodes().size();
  CompileOptions options;
  options.stop_after = "graph";
  auto compiled = compile(*std::move(model), options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  for (const auto& pass : compiled->report.at("passes"))
    if (const int changes = pass.at("changes").get<int>(); changes > 0)
      made.changes[pass.at("pass").get<std::string>()] += changes;
  made.integer = compiled->integer.live_nodes().size();
  made.before = std::move(compiled->integer);
  made.after = std::move(compiled->optimized);
  auto groups = fuse_groups(made.after, made.after.topological_order());
  if (!groups) FAIL(to_string(groups.errors()));
  made.groups = *std::move(groups);
  divide(file, made);
  return made;
}

std::string operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.live_nodes()) ++counts[graph.node(id).op];
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
  return text;
}

// One line for each fact, "key value".
std::string section(const std::string& name, const Made& made) {
  std::string passes;
  for (const auto& [pass, changes] : made.changes)
    passes += fmt::format("{}{} {}", passes.empty() ? "" : ", ", pass, changes);
  return fmt::format(
      "[{}]\nnodes    {} imported, {} integer, {} optimized\nbefore   {}\nafter    {}\npasses   {}\nkernels  "
      "{}\nregions  {} (operations of accel,cpu in turn)\nmoved    {} bytes between targets; {} copies between "
      "layouts, {} bytes read and written\n",
      name, made.imported, made.integer, made.after.live_nodes().size(), operators(made.before), operators(made.after),
      passes.empty() ? "none" : passes, made.groups.size(), made.regions, made.moved_bytes, made.copies,
      made.copied_bytes);
}

// Sections by their first line.
std::map<std::string, std::string> sections(const std::string& text) {
  std::map<std::string, std::string> found;
  std::string name, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    if (line.starts_with("[")) name = line;
    if (!name.empty() && !line.empty()) found[name] += line + "\n";
  }
  return found;
}

// The lines of both texts, with those of only one side marked.
std::string difference(const std::string& golden, const std::string& now) {
  std::istringstream a(golden), b(now);
  std::string left, right, text;
  while (true) {
    const bool more_left = static_cast<bool>(std::getline(a, left)),
               more_right = static_cast<bool>(std::getline(b, right));
    if (!more_left && !more_right) return text;
    if (more_left && more_right && left == right) {
      text += "  " + left + "\n";
      continue;
    }
    if (more_left) text += "- " + left + "\n";
    if (more_right) text += "+ " + right + "\n";
  }
}

bool is_activation(const std::string& op) {
  static const std::set<std::string> kOps{
      "Relu", "Clip", "LeakyRelu", "BatchNormalization", "Sigmoid", "HardSigmoid", "HardSwish", "Swish", "Mish",
      "Gelu", "Tanh", "Elu",       "dovetail.qclip"};
  return kOps.count(op) != 0;
}
// Whether the node adds or multiplies a constant: a bias, or the remainder of a BatchNormalization.
bool is_bias(const Graph& graph, const graph::Node& node) {
  return (node.op == "Add" || node.op == "Mul" || node.op == "Sub" || node.op == "Div") &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return graph.is_constant(input); });
}

// The structure of a value without names and numbers: two graphs with equal structures are the same network.
std::string structure(const Graph& graph, ValueId value, std::map<ValueId, std::string>& known) {
  if (!value.valid()) return "_";
  const auto it = known.find(value);
  if (it != known.end()) return it->second;
  const NodeId producer = graph.value(value).producer;
  std::string text = to_string(graph.value(value).type);
  if (producer.valid()) {
    const graph::Node& node = graph.node(producer);
    text += fmt::format(" {}.{}(", node.op,
                        std::find(node.outputs.begin(), node.outputs.end(), value) - node.outputs.begin());
    for (const ValueId input : node.inputs)
      text += fmt::format("{:x} ", std::hash<std::string>{}(structure(graph, input, known)));
    for (const auto& [name, attribute] : node.attributes) {
      if (name == "kernel_shape" || name == "group" || name == "dilations")
        continue;  // implied by the weight, or the default
      text += name;
      if (const auto* i = std::get_if<std::int64_t>(&attribute)) text += fmt::format("={} ", *i);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) text += to_string(Shape(*list));
    }
  } else {
    text += graph.is_constant(value) ? " constant" : " input";
  }
  return known[value] = text;
}

}  // namespace

TEST_CASE("graphs: every model after the passes equals the golden file") {
  const std::filesystem::path golden_file =
      std::filesystem::path(DOVETAIL_SOURCE_DIR) / "tests" / "e2e" / "models" / "graphs.golden";
  std::string golden, now;
  if (auto bytes = read_file(golden_file.string(), std::size_t{1} << 24))
    golden.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  auto kept = sections(golden);
  bool same = true;
  std::string differences;
  for (const std::string& model : kGraphModels) {
    const auto file = test::model_file(model);
    if (file.empty()) continue;
    INFO(model);
    const std::string made = section(model, make(file));
    std::string& had = kept["[" + model + "]"];
    if (had != made) {
      same = false;
      differences += difference(had, made);
      had = made;
    }
  }
  if (same) return;
  if (std::getenv("DOVETAIL_ACCEPT")) {
    std::ofstream out(golden_file);
    out << "# What the passes make of each model. Written by: DOVETAIL_ACCEPT=1 build/release/bin/test_e2e_models "
           "\"graphs: what*\"\n";
    for (const auto& [name, text] : kept) out << "\n" << text;
    return;
  }
  FAIL("graphs.golden differs (- golden, + now):\n"
       << differences << "accept with: DOVETAIL_ACCEPT=1 build/release/bin/test_e2e_models \"graphs: what*\"");
}

TEST_CASE("graphs: no activation, bias or normalization is a separate kernel") {
  for (const std::string& model : kGraphModels) {
    const auto file = test::model_file(model);
    if (file.empty()) continue;
    const Made made = make(file);
    for (const NodeId id : made.after.live_nodes()) CHECK(made.after.node(id).op != "BatchNormalization");
    for (const FusedGroup& group : made.groups) {
      if (group.nodes.size() > 1) continue;
      const graph::Node& node = made.after.node(group.nodes[0]);
      INFO(model << ": " << node.name << " (" << node.op
                 << ") is alone: " << fmt::format("{}", fmt::join(group.unfused, "; ")));
      CHECK_FALSE(is_activation(node.op));
      CHECK_FALSE(is_bias(made.after, node));
    }
  }
}

TEST_CASE("graphs: the digits models have no elementwise kernel") {
  for (const char* name : {"digits_float", "digits_int8", "digits_int8_pow2"}) {
    INFO(name);
    const Made made =
        make(std::filesystem::path(DOVETAIL_SOURCE_DIR) / "examples" / "digits" / (std::string(name) + ".onnx"));
    for (const FusedGroup& group : made.groups) {
      const graph::Node& anchor = made.after.node(group.anchor);
      INFO(anchor.name << " (" << anchor.op << ")");
      const bool moves = anchor.op == "Reshape" || anchor.op == "Flatten";
      // The conversion of the model's input to integers is the first node.
      const bool border = anchor.op == "QuantizeLinear" && anchor.inputs[0] == made.after.inputs[0];
      CHECK((ops::find(anchor.op)->category != ops::Category::injective || moves || border));
    }
  }
}

TEST_CASE("graphs: UltraFace as exported and simplified is one network, except for the decoding of boxes") {
  const auto exported = test::model_file("ultraface_slim_320"),
             simplified = test::model_file("ultraface_slim_320_simplified");
  if (exported.empty() || simplified.empty()) return;
  const Made a = make(exported), b = make(simplified);
  std::map<ValueId, std::string> known_a, known_b;
  CHECK(structure(a.after, *a.after.find_value("scores"), known_a) ==
        structure(b.after, *b.after.find_value("scores"), known_b));
  const std::string boxes = structure(b.after, *b.after.find_value("boxes"), known_b);
  // Every node of the exported model that the simplified one lacks comes after the raw boxes.
  std::size_t raw = 0, decoding = 0;
  std::set<ValueId> decoded;
  for (const NodeId id : a.after.topological_order()) {
    const graph::Node& node = a.after.node(id);
    const bool decodes =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return decoded.count(input) != 0; });
    decoding += decodes;
    const bool is_raw = structure(a.after, node.outputs[0], known_a) == boxes;
    raw += is_raw;
    if (decodes || is_raw) decoded.insert(node.outputs[0]);
  }
  CHECK(raw == 1);
  CHECK(a.after.live_nodes().size() - decoding == b.after.live_nodes().size());
}

}  // namespace dovetail
