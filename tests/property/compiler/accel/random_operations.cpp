// Random integer operators through the whole compiler and the functional simulator, against the reference on naive loop programs: bit for bit,
// on every configuration. Seeds are printed with every failure.
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "compiler/ops/op.h"
#include "compiler/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine_); }
  bool coin() { return between(0, 1) == 1; }
  NdArray int8(const Shape& shape, std::int64_t low = -128, std::int64_t high = 127) {
    NdArray array(DType::int8, shape);
    for (auto& value : array.data<std::int8_t>()) value = static_cast<std::int8_t>(between(low, high));
    return array;
  }

 private:
  std::mt19937_64 engine_;
};

// A chain of random operators over int8 tensors with one graph input.
struct RandomGraph {
  graph::Graph graph;
  Draw draw;
  bool shifts_only;  // scales that hardware without `requant` can do
  std::map<std::int32_t, std::int32_t> zero_points;  // by value: producers and consumers agree, as in a quantised model

  RandomGraph(std::uint64_t seed, bool shifts) : draw(seed), shifts_only(shifts) { graph.name = fmt::format("random{}", seed); }

  graph::ValueId input(Shape shape) {
    const graph::ValueId id = graph.add_value("x", {DType::int8, std::move(shape)});
    graph.inputs.push_back(id);
    zero_points[id.index] = static_cast<std::int32_t>(draw.coin() ? 0 : draw.between(-128, 127));
    return id;
  }
  float scale(double typical) {
    const double factor = std::exp2(-static_cast<double>(draw.between(0, 3)));
    if (shifts_only) return std::exp2(static_cast<float>(std::min(-1.0, std::floor(std::log2(typical * factor)))));
    return static_cast<float>(typical * factor * (1.0 + static_cast<double>(draw.between(0, 999)) / 1000.0));
  }
  graph::ValueId add(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
    graph::Node node;
    node.name = graph.unique_node_name(op == "MaxPool" ? "pool" : op.substr(op.find('.') + 1));
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {node.name};
    node.outputs = {graph.add_value(node.name + "_out", {})};
    const graph::ValueId output = node.outputs[0];
    const graph::NodeId id = graph.add_node(std::move(node));
    const auto status = ops::infer(graph, id);
    INFO((status.ok() ? "" : to_string(status.errors())));
    REQUIRE(status.ok());
    return output;
  }
  graph::Attributes epilogue(graph::ValueId x) {
    const std::int32_t y = static_cast<std::int32_t>(draw.coin() ? 0 : draw.between(-128, 127));
    graph::Attributes attributes{{"y_zero_point", std::int64_t{y}}};
    attributes["x_zero_point"] = std::int64_t{zero_points[x.index]};
    if (draw.coin()) attributes["y_min"] = draw.between(-128, y);
    if (draw.between(0, 3) == 0) attributes["y_max"] = draw.between(y, 127);
    return attributes;
  }
  void remember(graph::ValueId y, const graph::Attributes& attributes) {
    zero_points[y.index] = static_cast<std::int32_t>(std::get<std::int64_t>(attributes.at("y_zero_point")));
  }
  void weights(std::vector<graph::ValueId>& inputs, const Shape& shape) {
    const std::int64_t outputs = shape[0], terms = element_count(shape) / outputs;
    NdArray bias(DType::int32, {outputs}), scales(DType::float32, {outputs});
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-40 * terms, 40 * terms));
    const float common = scale(0.02 / std::sqrt(static_cast<double>(terms)));
    for (auto& value : scales.data<float>()) value = draw.coin() ? common : scale(0.02 / std::sqrt(static_cast<double>(terms)));
    inputs.push_back(graph.add_constant("w", draw.int8(shape)));
    inputs.push_back(graph.add_constant("bias", std::move(bias)));
    inputs.push_back(graph.add_constant("scale", std::move(scales)));
  }
  graph::ValueId conv(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = draw.between(1, std::min<std::int64_t>(4, shape[2])), kw = draw.between(1, std::min<std::int64_t>(4, shape[3]));
    const std::int64_t dh = kh > 1 && 2 * (kh - 1) < shape[2] ? draw.between(1, 2) : 1;
    graph::Attributes attributes = epilogue(x);
    attributes["strides"] = std::vector<std::int64_t>{draw.between(1, 3), draw.between(1, 2)};
    attributes["dilations"] = std::vector<std::int64_t>{dh, 1};
    attributes["pads"] = std::vector<std::int64_t>{draw.between(0, kh - 1), draw.between(0, kw - 1), draw.between(0, kh - 1), draw.between(0, kw - 1)};
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {draw.between(1, 40), shape[1], kh, kw});
    const graph::ValueId y = add("dovetail.qconv", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId gemm(graph::ValueId x) {
    if (graph.value(x).type.shape.size() == 4) {
      const std::int32_t zero_point = zero_points[x.index];
      x = add("Flatten", {x}, {{"axis", std::int64_t{1}}});
      zero_points[x.index] = zero_point;
    }
    graph::Attributes attributes = epilogue(x);
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {draw.between(1, 40), graph.value(x).type.shape[1]});
    const graph::ValueId y = add("dovetail.qgemm", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId residual(graph::ValueId a, graph::ValueId b) {
    const std::int64_t k = draw.between(2, 16);
    const auto multiplier = [&] {
      const double value = shifts_only ? std::exp2(static_cast<double>(draw.between(0, k + 1))) : std::exp2(static_cast<double>(k)) * static_cast<double>(draw.between(1, 4000)) / 2000.0;
      return static_cast<double>(static_cast<float>(value));
    };
    graph::Attributes attributes = epilogue(a);
    attributes.erase("x_zero_point");
    attributes["a_zero_point"] = std::int64_t{zero_points[a.index]};
    attributes["b_zero_point"] = std::int64_t{zero_points[b.index]};
    attributes["a_multiplier"] = multiplier();
    attributes["b_multiplier"] = multiplier();
    attributes["shift"] = k;
    const graph::ValueId y = add("dovetail.qadd", {a, b}, attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId max_pool(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = draw.between(1, std::min<std::int64_t>(3, shape[2])), kw = draw.between(kh == 1 && shape[3] > 1 ? 2 : 1, std::min<std::int64_t>(3, shape[3]));
    graph::Attributes attributes;
    attributes["kernel_shape"] = std::vector<std::int64_t>{kh, kw};
    attributes["strides"] = std::vector<std::int64_t>{draw.between(1, 2), draw.between(1, 3)};
    attributes["pads"] = std::vector<std::int64_t>{draw.between(0, kh - 1), draw.between(0, kw - 1), draw.between(0, kh - 1), draw.between(0, kw - 1)};
    if (draw.coin()) attributes["ceil_mode"] = std::int64_t{1};
    const graph::ValueId y = add("MaxPool", {x}, attributes);
    zero_points[y.index] = zero_points[x.index];
    return y;
  }

  void build(int operators) {
    std::vector<graph::ValueId> live{input({draw.between(1, 3), draw.between(1, 40), draw.between(1, 12), draw.between(1, 12)})};
    for (int i = 0; i < operators; ++i) {
      const graph::ValueId x = live[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(live.size()) - 1))];
      const bool image = graph.value(x).type.shape.size() == 4;
      graph::ValueId y;
      switch (image ? draw.between(0, 5) : draw.between(4, 5)) {
        case 0:
        case 1:
        case 2: y = conv(x); break;
        case 3: y = graph.value(x).type.shape[2] * graph.value(x).type.shape[3] > 1 ? max_pool(x) : conv(x); break;
        case 4: {
          graph::ValueId other = x;
          for (const graph::ValueId candidate : live)
            if (candidate != x && graph.value(candidate).type == graph.value(x).type) other = candidate;
          y = residual(x, other);
          break;
        }
        default: y = gemm(x);
      }
      live.push_back(y);
    }
    graph.outputs = {live.back()};
    if (draw.coin() && live.size() > 2) graph.outputs.push_back(live[live.size() - 2]);
    if (graph.outputs.size() == 2 && graph.outputs[1] == graph.inputs[0]) graph.outputs.pop_back();
  }
};

int scale_of_tests() {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale ? std::max(1, std::atoi(scale)) : 1;
}

void check(const isa::HardwareConfig& config, std::uint64_t seed, int& accelerated, int& host) {
  // Base hardware does powers of two by shifts and other scales by limbs.
  RandomGraph random(seed, !config.requant && seed % 2 == 0);
  random.build(static_cast<int>(1 + seed % 5));
  INFO("seed " << seed << " on " << config.name << "\n" << graph::to_string(random.graph));
  CompileOptions options;
  options.hardware = config;
  auto compiled = compile({random.graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  if (!compiled.ok() && config.address_bits < 32) {
    // A small address space may be too small for a random graph, and must say so.
    REQUIRE(compiled.errors().front().what.find("cannot plan the memory") == 0);
    return;
  }
  REQUIRE(compiled.ok());
  for (const NodePlacement& row : compiled->placement) (row.target == "host" ? host : accelerated) += 1;

  auto reference = Reference::make(random.graph);
  REQUIRE(reference.ok());
  auto factory = runtime::simulator_factory("functional");
  REQUIRE(factory.ok());
  auto executor = runtime::Executor::make(compiled->bundle, *factory);
  INFO((executor.ok() ? "" : to_string(executor.errors())));
  REQUIRE(executor.ok());
  const std::map<std::string, NdArray> inputs{{"x", random.draw.int8(random.graph.value(random.graph.inputs[0]).type.shape)}};
  const auto expected = reference->run(inputs);
  REQUIRE(expected.ok());
  const auto result = executor->run(inputs);
  INFO((result.ok() ? "" : to_string(result.errors())));
  REQUIRE(result.ok());
  for (const auto& [name, array] : result->outputs) {
    INFO("output " << name);
    REQUIRE(array.shape() == expected->at(name).shape());
    const auto got = array.data<std::int8_t>(), wanted = expected->at(name).data<std::int8_t>();
    std::int64_t different = 0;
    for (std::size_t i = 0; i < got.size(); ++i) different += got[i] != wanted[i];
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("random operators equal the reference on every named configuration") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      int accelerated = 0, host = 0;
      for (int i = 0; i < 12 * scale_of_tests(); ++i) check(config, static_cast<std::uint64_t>(1000 + i), accelerated, host);
      // The point is the accelerator: most nodes must have run there.
      INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
      CHECK(accelerated > 2 * host);
    }
  }
}
