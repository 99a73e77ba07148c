// Every quantized node of the int8 models, with the operands of the float evaluation: the same bits on interpreter, CPU
// and accelerator, and at most one step from TFLite's arithmetic.
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>

#include <fmt/format.h>

#include "compiler/import/onnx.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/op.h"
#include "compiler/passes/list.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/e2e/models/sample.h"
#include "tests/e2e/models/tflite_arithmetic.h"
#include "tests/targets.h"
#include "tests/tier.h"

namespace dovetail {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using Values = std::map<std::string, NdArray>;

constexpr const char* kNodeModels[] = {
    "resnet8_int8", "kws_dscnn_int8",       "kws_dscnn_int8_qoperator", "ad_autoencoder_int8",
    "vww96_int8",   "vww96_int8_qoperator", "mobilenetv2_035_160_int8"};
// The sample of ./dev test has the first three of these.
std::span<const char* const> node_models() {
  return std::span(kNodeModels).first(test::judges_everything() ? std::size(kNodeModels) : 3);
}

template <typename T>
T must(Result<T> result) {
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

struct Prepared {
  Graph imported, integer;
  Values operands;  // the float evaluation's value of each int8 tensor, and the inputs
};

Prepared prepare(const test::fs::path& file, const test::fs::path& sample) {
  Prepared prepared;
  prepared.imported = must(import::import_onnx_file(file)).graph;
  prepared.integer = prepared.imported;
  must(passes::lower_qdq(prepared.integer));
  const Values inputs = test::read_arrays(sample, prepared.imported, prepared.imported.inputs, "in");
  prepared.operands = must(must(Reference::make(prepared.imported)).run(inputs));
  prepared.operands.insert(inputs.begin(), inputs.end());
  return prepared;
}

// Every node of the integer graph separately: operands known from the float evaluation become graph inputs, every
// result an output. Float nodes are left out.
Graph cut(const Prepared& prepared, Values& inputs) {
  Graph graph = prepared.integer;
  const std::vector<NodeId> nodes = graph.topological_order();
  graph.inputs.clear();
  graph.outputs.clear();
  std::map<ValueId, ValueId> fed;
  for (const NodeId id : nodes) {
    const auto floats = [&](const std::vector<ValueId>& values) {
      return std::any_of(values.begin(), values.end(), [&](ValueId value) {
        return value.valid() && !graph.is_constant(value) && is_floating(graph.value(value).type.dtype);
      });
    };
    if (floats(graph.node(id).inputs) || floats(graph.node(id).outputs)) {
      graph.remove_node(id);
      continue;
    }
    for (std::size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ValueId input = graph.node(id).inputs[i];
      if (!input.valid() || graph.is_constant(input)) continue;
      const std::string name = graph.value(input).name;
      const auto known = prepared.operands.find(name);
      if (known == prepared.operands.end()) continue;  // made by lower_qdq: its producer computes it
      if (!fed.count(input)) {
        fed[input] = graph.add_value("fed/" + name, graph.value(input).type);
        graph.inputs.push_back(fed[input]);
        inputs["fed/" + name] = known->second;
      }
      graph.edit(id)->inputs[i] = fed[input];
    }
    for (const ValueId output : graph.node(id).outputs) graph.outputs.push_back(output);
  }
  graph.compact();
  if (auto verified = graph::verify(graph); !verified) FAIL(to_string(verified.errors()));
  return graph;
}

std::int64_t differences(const NdArray& a, const NdArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return element_count(a.shape());
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) different += a.as_int64(i) != b.as_int64(i);
  return different;
}

// sum (x - zx)(w - zw) + bias of a dovetail.qconv or qgemm, by plain loops.
std::vector<std::int64_t> accumulators(const Graph& graph, const Node& node, const NdArray& x) {
  const NdArray &w = *graph.value(node.inputs[1]).constant, &bias = *graph.value(node.inputs[2]).constant;
  const NdArray* w_zero = node.inputs.size() > 4 ? &*graph.value(node.inputs[4]).constant : nullptr;
  const std::int64_t zx = graph::int_attribute(node, "x_zero_point", 0);
  const auto weight = [&](std::int64_t o, std::int64_t at) {
    return w.as_int64(at) - (w_zero ? w_zero->as_int64(o) : 0);
  };
  std::vector<std::int64_t> sums;
  if (node.op == "dovetail.qgemm") {
    const std::int64_t columns = w.shape()[0], depth = w.shape()[1];
    for (std::int64_t row = 0; row < x.count() / depth; ++row)
      for (std::int64_t o = 0; o < columns; ++o) {
        std::int64_t sum = bias.as_int64(o);
        for (std::int64_t k = 0; k < depth; ++k) sum += (x.as_int64(row * depth + k) - zx) * weight(o, o * depth + k);
        sums.push_back(sum);
      }
    return sums;
  }
  const ops::ConvShape shape = must(ops::conv_shape({graph, node}));
  REQUIRE(shape.window.rank() == 2);
  const ops::Window& window = shape.window;
  const std::int64_t channels = w.shape()[1], height = window.input[0], width = window.input[1], kh = window.kernel[0],
                     kw = window.kernel[1];
  const auto pixels = x.data<std::int8_t>();
  for (std::int64_t n = 0; n < shape.batch; ++n)
    for (std::int64_t o = 0; o < shape.out_channels; ++o)
      for (std::int64_t oy = 0; oy < window.output[0]; ++oy)
        for (std::int64_t ox = 0; ox < window.output[1]; ++ox) {
          std::int64_t sum = bias.as_int64(o);
          const std::int64_t first = o / (shape.out_channels / shape.group) * channels;
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t ky = 0; ky < kh; ++ky)
              for (std::int64_t kx = 0; kx < kw; ++kx) {
                const std::int64_t iy = oy * window.strides[0] + ky * window.dilations[0] - window.pad_begin[0],
                                   ix = ox * window.strides[1] + kx * window.dilations[1] - window.pad_begin[1];
                if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
                sum += (pixels[static_cast<std::size_t>(((n * shape.in_channels + first + c) * height + iy) * width +
                                                        ix)] -
                        zx) *
                       weight(o, ((o * channels + c) * kh + ky) * kw + kx);
              }
          sums.push_back(sum);
        }
  return sums;
}

struct Theirs {
  std::vector<std::int64_t> steps;
  // The results of a build with TFLITE_SINGLE_ROUNDING, where the kernel otherwise rounds twice.
  std::vector<std::int64_t> rounded_once;
  // Whether, for each value, the exact product is so close to a tie that TFLite's first rounding, to 2^shift of a step,
  // may carry it across for the second rounding. A convolution of few terms has large scales, hence few fraction bits:
  // up to several percent of its values are next to a tie.
  std::vector<bool> next_to_tie;
};

// The result of TFLite's kernel for the node's operands; nullopt for operators that only move or bound steps.
std::optional<Theirs> tflite_result(const Graph& graph, const Node& node, const Values& values) {
  const auto operand = [&](std::size_t i) -> const NdArray& {
    const graph::Value& value = graph.value(node.inputs[i]);
    return value.constant ? *value.constant : values.at(value.name);
  };
  const std::int64_t zy = graph::int_attribute(node, "y_zero_point", 0),
                     low = graph::int_attribute(node, "y_min", -128), high = graph::int_attribute(node, "y_max", 127);
  Theirs result;
  const auto put = [&](std::int64_t centered) { result.steps.push_back(std::clamp(centered + zy, low, high)); };
  if (node.op == "dovetail.qadd") {
    const double unit = graph::float_attribute(node, "scale", 1);
    const test::tflite::Sum add(graph::float_attribute(node, "a_multiplier", 1) * unit,
                                graph::float_attribute(node, "b_multiplier", 1) * unit);
    const NdArray &a = operand(0), &b = operand(1);
    REQUIRE((b.count() == a.count() || b.count() == 1));
    for (std::int64_t i = 0; i < a.count(); ++i)
      put(add(static_cast<std::int32_t>(a.as_int64(i) - graph::int_attribute(node, "a_zero_point", 0)),
              static_cast<std::int32_t>(b.as_int64(b.count() == 1 ? 0 : i) -
                                        graph::int_attribute(node, "b_zero_point", 0))));
    return result;
  }
  if (node.op != "dovetail.qconv" && node.op != "dovetail.qgemm") return std::nullopt;
  const NdArray &w = *graph.value(node.inputs[1]).constant, &scale = *graph.value(node.inputs[3]).constant;
  const Shape& y = graph.value(node.outputs[0]).type.shape;
  std::int64_t inner = 1;
  for (std::size_t i = 2; i < y.size() && node.op == "dovetail.qconv"; ++i) inner *= y[i];
  const std::vector<std::int64_t> sums = accumulators(graph, node, operand(0));
  const std::int64_t n = w.count() / w.shape()[0];
  const bool ones = std::all_of(w.data<std::int8_t>().begin(), w.data<std::int8_t>().end(),
                                [](std::int8_t each) { return each == 1; });
  const bool is_mean = ones && n > 1 && std::abs(scale.as_double(0) * static_cast<double>(n) - 1) < 1e-6;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t o = static_cast<std::int64_t>(i) / inner % scale.count();
    const auto sum = static_cast<std::int32_t>(sums[i]);
    // An average adds the steps themselves, not their distances from the zero point.
    const test::tflite::Multiplier by(scale.as_double(o));
    if (is_mean) put(test::tflite::mean(sum + static_cast<std::int32_t>(n * zy), static_cast<std::int32_t>(n)) - zy);
    else put(test::tflite::multiply(sum, by));
    if (!is_mean) result.rounded_once.push_back(std::clamp(test::tflite::multiply_once(sum, by) + zy, low, high));
    const double exact = static_cast<double>(sum) * scale.as_double(o), beyond = exact - std::floor(exact);
    result.next_to_tie.push_back(!is_mean && std::abs(beyond - 0.5) <= std::ldexp(0.5, std::min(by.shift, 0)) + 1e-6);
  }
  return result;
}

bool is_average(const Graph& imported, const Node& node) {
  return std::any_of(node.origins.begin(), node.origins.end(), [&](const std::string& origin) {
    const auto found = imported.find_node(origin);
    return found && (imported.node(*found).op == "AveragePool" || imported.node(*found).op == "GlobalAveragePool");
  });
}

// With 127.5 steps to subtract, all values of mobilenetv2's input normalization are ties.
bool subtracts_half_steps(const Graph& imported, const Node& node) {
  return std::any_of(node.origins.begin(), node.origins.end(), [&](const std::string& origin) {
    const auto found = imported.find_node(origin);
    return found && imported.node(*found).op == "Sub";
  });
}

}  // namespace

TEST_CASE("every quantized node of the int8 models has the same bits on every target") {
  const char* model = GENERATE(from_range(node_models()));
  const std::string target = GENERATE("cpu", "accel");
  INFO(model << " on " << target);
  const test::fs::path file = test::model_file(model);
  if (file.empty()) return;
  const auto samples = test::samples_of(file);
  const Prepared prepared = prepare(file, samples[0]);
  Values inputs;
  const Graph nodes = cut(prepared, inputs);
  CompileOptions options;
  options.available = test::kit_targets();
  options.targets = {target};
  Compiled compiled = must(compile({nodes, {}}, options));
  std::map<std::string, int> by_target;
  for (const NodePlacement& row : compiled.placement) ++by_target[row.target];
  CHECK(by_target[target] > 5);
  runtime::Executor executor =
      must(runtime::Executor::make(std::move(compiled.bundle), must(runtime::simulator_factory("functional"))));
  const Values expected = must(must(Reference::make(nodes)).run(inputs)), actual = must(executor.run(inputs)).outputs;
  for (const ValueId output : nodes.outputs) {
    const std::string& name = nodes.value(output).name;
    INFO(nodes.node(nodes.value(output).producer).name << " (" << nodes.node(nodes.value(output).producer).op << ")");
    CHECK(differences(actual.at(name), expected.at(name)) == 0);
  }
}

TEST_CASE("every quantized node of the int8 models is one step from TFLite's arithmetic") {
  const char* model = GENERATE(from_range(node_models()));
  INFO(model);
  const test::fs::path file = test::model_file(model);
  if (file.empty()) return;
  const auto samples = test::samples_of(file);
  for (std::size_t s = 0; s < (test::test_scale() < 2 ? 1 : samples.size()); ++s) {
    INFO(samples[s].filename().string());
    const Prepared prepared = prepare(file, samples[s]);
    Values inputs;
    const Graph nodes = cut(prepared, inputs);
    Values values = must(must(Reference::make(nodes)).run(inputs));
    values.insert(inputs.begin(), inputs.end());
    int compared = 0;
    std::int64_t sum = 0, sum_twice = 0, all_once = 0;
    for (const NodeId id : nodes.topological_order()) {
      const Node& node = nodes.node(id);
      const auto theirs = tflite_result(nodes, node, values);
      if (!theirs) continue;
      const NdArray& ours = values.at(nodes.value(node.outputs[0]).name);
      REQUIRE(static_cast<std::int64_t>(theirs->steps.size()) == ours.count());
      std::int64_t different = 0, rounded_twice = 0, furthest = 0, once_different = 0, once_furthest = 0;
      for (std::size_t i = 0; i < theirs->steps.size(); ++i) {
        const std::int64_t apart = std::abs(ours.as_int64(static_cast<std::int64_t>(i)) - theirs->steps[i]);
        const bool next_to_tie = !theirs->next_to_tie.empty() && theirs->next_to_tie[i];
        different += apart != 0 && !next_to_tie;
        rounded_twice += apart != 0 && next_to_tie;
        furthest = std::max(furthest, apart);
      }
      for (std::size_t i = 0; i < theirs->rounded_once.size(); ++i) {
        const std::int64_t apart = std::abs(ours.as_int64(static_cast<std::int64_t>(i)) - theirs->rounded_once[i]);
        once_different += apart != 0;
        once_furthest = std::max(once_furthest, apart);
      }
      INFO(node.name << " (" << node.op << "): " << different << " of " << ours.count() << " differ, and "
                     << rounded_twice << " because of its first rounding; " << once_different
                     << " where it rounds once");
      CHECK(furthest <= 1);
      CHECK(once_furthest <= 1);
      CHECK(static_cast<double>(once_different) <= 0.005 * static_cast<double>(ours.count()) + 1);
      all_once += once_different;
      // One more value, for results of a handful of values.
      const double share = is_average(prepared.imported, node)             ? 0.05
                           : subtracts_half_steps(prepared.imported, node) ? 0.10
                                                                           : 0.005;
      CHECK(static_cast<double>(different) <= share * static_cast<double>(ours.count()) + 1);
      ++compared;
      sum_twice += rounded_twice;
      sum += ours.count();
    }
    CHECK(compared > 5);
    // Over all of a model's values, the second rounding rarely matters: in 0.1 % to 1 % of them.
    INFO(sum_twice << " of " << sum << " values were rounded twice; " << all_once
                   << " differ where TFLite rounds once");
    CHECK(static_cast<double>(sum_twice) <= 0.015 * static_cast<double>(sum));
  }
}

// Compares with ONNX Runtime's values, where DOVETAIL_ORT_VALUES names the folder that tools/onnxruntime_values.py
// wrote.
TEST_CASE("every quantized node of the int8 models is one step from ONNX Runtime") {
  const char* values_folder = std::getenv("DOVETAIL_ORT_VALUES");
  if (values_folder == nullptr) {
    WARN("skipped: DOVETAIL_ORT_VALUES names no folder");
    return;
  }
  const char* model = GENERATE(from_range(node_models()));
  INFO(model);
  const test::fs::path file = test::model_file(model);
  if (file.empty()) return;
  for (const test::fs::path& sample : test::samples_of(file)) {
    INFO(sample.filename().string());
    Prepared prepared = prepare(file, sample);
    const Values inputs_of_model = test::read_arrays(sample, prepared.imported, prepared.imported.inputs, "in");
    prepared.operands = inputs_of_model;
    Values theirs;
    for (const graph::Value& value : prepared.imported.values) {
      const test::fs::path stored =
          test::fs::path(values_folder) / model / sample.filename() / (test::file_name(value.name) + ".npy");
      if (test::fs::exists(stored)) theirs.emplace(value.name, must(read_npy(stored)));
    }
    REQUIRE(theirs.size() > 5);
    prepared.operands.insert(theirs.begin(), theirs.end());
    Values inputs;
    const Graph nodes = cut(prepared, inputs);
    const Values ours = must(must(Reference::make(nodes)).run(inputs));
    std::int64_t compared = 0;
    for (const ValueId output : nodes.outputs) {
      const std::string& name = nodes.value(output).name;
      const auto expected = theirs.find(name);
      if (expected == theirs.end()) continue;
      const Node& node = nodes.node(nodes.value(output).producer);
      std::int64_t different = 0, furthest = 0;
      for (std::int64_t i = 0; i < expected->second.count(); ++i) {
        const std::int64_t apart = std::abs(ours.at(name).as_int64(i) - expected->second.as_int64(i));
        different += apart != 0;
        furthest = std::max(furthest, apart);
      }
      const std::int64_t count = expected->second.count();
      INFO(node.name << " (" << node.op << "): " << different << " of " << count << " differ");
      CHECK(furthest <= 1);
      const double share = is_average(prepared.imported, node)             ? 0.05
                           : subtracts_half_steps(prepared.imported, node) ? 0.10
                                                                           : 0.005;
      CHECK(static_cast<double>(different) <= share * static_cast<double>(count) + 1);
      ++compared;
    }
    CHECK(compared > 5);
  }
}

TEST_CASE("the int8 models choose the stored class on every target") {
  const char* model = GENERATE(from_range(node_models()));
  const std::string target = GENERATE("cpu", "accel");
  INFO(model << " on " << target);
  const test::fs::path file = test::model_file(model);
  if (file.empty()) return;
  const import::Imported imported = must(import::import_onnx_file(file));
  CompileOptions options;
  options.available = test::kit_targets();
  options.targets = {target};
  Compiled compiled = must(compile(imported, options));
  runtime::Executor executor =
      must(runtime::Executor::make(std::move(compiled.bundle), must(runtime::simulator_factory("functional"))));
  for (const test::fs::path& sample : test::samples_of(file)) {
    // Two classes with equal logits: rounding decides.
    if (std::string(model) == "resnet8_int8" && sample.filename() == "dog") continue;
    INFO(sample.filename().string());
    const Values outputs =
        must(executor.run(test::read_arrays(sample, imported.graph, imported.graph.inputs, "in"))).outputs;
    for (const auto& [name, array] : test::read_arrays(sample, imported.graph, imported.graph.outputs, "out"))
      CHECK(test::arg_max(outputs.at(name)) == test::arg_max(array));
  }
}

}  // namespace dovetail
