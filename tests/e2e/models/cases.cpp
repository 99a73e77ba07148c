// Small models written by other tools (shared/cases next to the repository), compared with ONNX Runtime's outputs:
// imported, then run by the reference and through the whole pipeline.
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/e2e/models/sample.h"
#include "tests/targets.h"

namespace dovetail {
namespace {

using test::fs::path;
using Values = std::map<std::string, NdArray>;

struct ModelCase {
  const char* folder;
  double tolerance;  // of an output's largest value
  // Outputs in which ONNX Runtime itself departs from the standard; for each, a unit test decides by the standard.
  std::set<std::string> departs = {};
};
const ModelCase kModelCases[] = {
    // Cubic samples outside the image with corners aligned: ONNX Runtime moves neighbors to the border where the
    // standard's text and reference move the place (unit/compiler: GridSample).
    {"29_gridsample", 2e-5, {"y15"}},
    // An LSTM with `clip`: tested below.
    {"30_gru_lstm", 1e-5, {"y3", "h3", "c3"}},
    {"13_int4_blocked_matmul", 1e-5},
    {"13b_int8_blocked_matmul", 1e-5},
    {"17_contrib_llm", 1e-5},
    {"33_ort_quantize_static_default", 0.01},  // a step of the output's quantization
    {"51_scale_1_zero_point_scalar", 0.01},
};

Values read_values(const path& folder, const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  Values arrays;
  for (const graph::ValueId id : values) {
    const std::string& name = graph.value(id).name;
    auto array = read_npy(folder / (test::file_name(name) + ".npy"));
    if (!array) FAIL(to_string(array.errors()));
    arrays.emplace(name, *std::move(array));
  }
  return arrays;
}

void check_values(const ModelCase& model, const Values& actual, const Values& expected) {
  for (const auto& [name, right] : expected) {
    if (model.departs.contains(name)) continue;
    const NdArray& ours = actual.at(name);
    REQUIRE(ours.shape() == right.shape());
    REQUIRE(ours.dtype() == right.dtype());
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < right.count(); ++i) {
      largest = std::max(largest, std::abs(right.as_double(i)));
      const double apart = std::abs(ours.as_double(i) - right.as_double(i));
      difference = std::max(difference, std::isnan(apart) ? INFINITY : apart);
    }
    INFO("output " << name << ": difference " << difference << ", largest value " << largest);
    CHECK(difference <= model.tolerance * largest);
  }
}

// LSTM by the equations of the standard, in binary64: default activations, both directions, peepholes, lengths, `clip`
// on the input of activations. The parameter decides whether the input of the cell's activation is clipped.
struct Lstm {
  NdArray x, w, r, b, lengths, h, c, p;
  double clip;

  // Y [steps, 2, batch, hidden], Y_h and Y_c [2, batch, hidden].
  std::vector<NdArray> outputs(bool clips_cell) const {
    const std::int64_t steps = x.shape()[0], batch = x.shape()[1], inputs = x.shape()[2], hidden = r.shape()[2];
    std::vector<NdArray> result{NdArray(DType::float32, {steps, 2, batch, hidden}),
                                NdArray(DType::float32, {2, batch, hidden}),
                                NdArray(DType::float32, {2, batch, hidden})};
    const auto clipped = [&](double v) { return std::min(std::max(v, -clip), clip); };
    const auto sigmoid = [&](double v) { return 1 / (1 + std::exp(-clipped(v))); };
    for (std::int64_t d = 0; d < 2; ++d)
      for (std::int64_t n = 0; n < batch; ++n) {
        const auto places = static_cast<std::size_t>(hidden);
        std::vector<double> state(places), cell(places), next(places);
        for (std::int64_t k = 0; k < hidden; ++k) {
          state[static_cast<std::size_t>(k)] = h.as_double((d * batch + n) * hidden + k);
          cell[static_cast<std::size_t>(k)] = c.as_double((d * batch + n) * hidden + k);
        }
        const std::int64_t length = lengths.as_int64(n);
        for (std::int64_t step = 0; step < length; ++step) {
          const std::int64_t t = d == 0 ? step : length - 1 - step;
          for (std::int64_t k = 0; k < hidden; ++k) {
            const auto at = static_cast<std::size_t>(k);
            const auto gate = [&](std::int64_t number) {  // input, output, forget, cell
              const std::int64_t row = (d * 4 + number) * hidden + k;
              double sum = b.as_double(d * 8 * hidden + number * hidden + k) +
                           b.as_double(d * 8 * hidden + (4 + number) * hidden + k);
              for (std::int64_t i = 0; i < inputs; ++i)
                sum += x.as_double((t * batch + n) * inputs + i) * w.as_double(row * inputs + i);
              for (std::int64_t i = 0; i < hidden; ++i)
                sum += state[static_cast<std::size_t>(i)] * r.as_double(row * hidden + i);
              return sum;
            };
            const auto peephole = [&](std::int64_t number) { return p.as_double((d * 3 + number) * hidden + k); };
            const double in = sigmoid(gate(0) + peephole(0) * cell[at]),
                         forget = sigmoid(gate(2) + peephole(2) * cell[at]);
            cell[at] = forget * cell[at] + in * std::tanh(clipped(gate(3)));
            next[at] = sigmoid(gate(1) + peephole(1) * cell[at]) * std::tanh(clips_cell ? clipped(cell[at]) : cell[at]);
          }
          state = next;
          for (std::int64_t k = 0; k < hidden; ++k)
            result[0].set_double(((t * 2 + d) * batch + n) * hidden + k, state[static_cast<std::size_t>(k)]);
        }
        for (std::int64_t k = 0; k < hidden; ++k) {
          result[1].set_double((d * batch + n) * hidden + k, state[static_cast<std::size_t>(k)]);
          result[2].set_double((d * batch + n) * hidden + k, cell[static_cast<std::size_t>(k)]);
        }
      }
    return result;
  }
};

double largest_difference(const NdArray& a, const NdArray& b) {
  REQUIRE(a.shape() == b.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) largest = std::max(largest, std::abs(a.as_double(i) - b.as_double(i)));
  return largest;
}

}  // namespace

// "Clipping [..] is applied to the input of activations" (ONNX, LSTM): the cell's activation h(Ct) is one of them.
TEST_CASE("An LSTM with clip and peepholes follows the standard, while ONNX Runtime omits one clip") {
  const path folder = test::cases_folder() / "30_gru_lstm", file = folder / "model.onnx";
  if (!test::fs::exists(file)) return test::skip(file.string() + " is not there");
  const auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  const graph::Graph& graph = imported->graph;
  const Values inputs = read_values(folder / "inputs", graph, graph.inputs);
  const std::vector<graph::NodeId> nodes = graph.live_nodes();
  const auto node = std::ranges::find_if(nodes, [&](graph::NodeId id) {
    return graph.node(id).op == "LSTM" && graph.node(id).attributes.contains("clip");
  });
  REQUIRE(node != nodes.end());
  const graph::Node lstm_node = graph.node(*node);
  const auto operand = [&](std::size_t i) {
    const graph::Value& value = graph.value(lstm_node.inputs.at(i));
    return value.constant ? *value.constant : inputs.at(value.name);
  };
  const Lstm lstm{operand(0), operand(1), operand(2),
                  operand(3), operand(4), operand(5),
                  operand(6), operand(7), graph::float_attribute(lstm_node, "clip", 0)};
  auto reference = Reference::make(graph);
  if (!reference) FAIL(to_string(reference.errors()));
  const auto outputs = reference->run(inputs);
  if (!outputs) FAIL(to_string(outputs.errors()));
  const std::vector<NdArray> standard = lstm.outputs(true), without = lstm.outputs(false);
  for (const auto& [name, number] : {std::pair{"y3", 0}, {"h3", 1}, {"c3", 2}}) {
    INFO(name);
    const auto at = static_cast<std::size_t>(number);
    CHECK(largest_difference(outputs->at(name), standard[at]) < 2e-6);
    const auto theirs = read_npy(folder / "expected" / fmt::format("{}.npy", name));
    REQUIRE(theirs.ok());
    CHECK(largest_difference(*theirs, without[at]) < 2e-6);
    CHECK(largest_difference(*theirs, standard[at]) > 0.05);
  }
}

TEST_CASE("Models of other tools give the outputs of ONNX Runtime") {
  const ModelCase& each = GENERATE(from_range(std::begin(kModelCases), std::end(kModelCases)));
  INFO(each.folder);
  const path folder = test::cases_folder() / each.folder, file = folder / "model.onnx";
  if (!test::fs::exists(file)) return test::skip(file.string() + " is not there");
  const auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  const Values inputs = read_values(folder / "inputs", imported->graph, imported->graph.inputs),
               expected = read_values(folder / "expected", imported->graph, imported->graph.outputs);
  SECTION("reference") {
    auto reference = Reference::make(imported->graph);
    if (!reference) FAIL(to_string(reference.errors()));
    const auto outputs = reference->run(inputs);
    if (!outputs) FAIL(to_string(outputs.errors()));
    check_values(each, *outputs, expected);
  }
  SECTION("cpu") {
    CompileOptions options;
    options.available = test::kit_targets();
    options.targets = {"cpu"};
    auto compiled = compile(*imported, options);
    if (!compiled) FAIL(to_string(compiled.errors()));
    const auto simulators = runtime::simulator_factory("functional");
    if (!simulators) FAIL(to_string(simulators.errors()));
    auto executor = runtime::Executor::make(std::move(compiled->bundle), *simulators);
    if (!executor) FAIL(to_string(executor.errors()));
    const auto result = executor->run(inputs);
    if (!result) FAIL(to_string(result.errors()));
    check_values(each, result->outputs, expected);
  }
}

}  // namespace dovetail
