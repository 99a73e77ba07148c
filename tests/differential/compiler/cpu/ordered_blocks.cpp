// Operators whose loops run in an order, or write at data-dependent positions, as machine code compared with the
// reference.
#include <cmath>

#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/targets.h"

using namespace dovetail;

namespace {

class OneNode {
 public:
  explicit OneNode(std::string op) { node_.op = std::move(op), node_.name = "node", node_.origins = {"node"}; }

  OneNode& input(NdArray array) {
    const graph::ValueId id = graph_.add_value("x", {array.dtype(), array.shape()});
    graph_.inputs.push_back(id);
    inputs_[graph_.value(id).name] = std::move(array);
    node_.inputs.push_back(id);
    return *this;
  }
  OneNode& constant(NdArray array) {
    node_.inputs.push_back(graph_.add_constant("c", std::move(array)));
    return *this;
  }
  OneNode& omitted() {
    node_.inputs.emplace_back();
    return *this;
  }
  OneNode& with(std::string name, graph::Attribute value) {
    node_.attributes[std::move(name)] = std::move(value);
    return *this;
  }

  // Every output at every level equals the reference's within rounding.
  void check(int outputs) {
    for (int i = 0; i < outputs; ++i) node_.outputs.push_back(graph_.add_value("y", {}));
    for (const graph::ValueId output : node_.outputs) graph_.outputs.push_back(output);
    const auto inferred = ops::infer(graph_, graph_.add_node(node_));
    REQUIRE((inferred.ok() ? "" : to_string(inferred.errors())) == "");
    const auto expected = Reference::make(graph_).value().run(inputs_);
    REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
    for (const passes::Level level : {passes::Level::needed, passes::Level::tolerant}) {
      CompileOptions options;
      options.available = test::kit_targets();
      options.targets = {"cpu"};
      options.context.level = level;
      const auto compiled = compile({graph_, {}}, options);
      REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
      for (const auto& [name, kind] : kinds(*compiled)) {
        INFO(name);
        CHECK(kind != "interpreted");
      }
      auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory("functional"));
      REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
      const auto run = executor->run(inputs_);
      REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
      for (const auto& [name, array] : run->outputs) compare(array, expected->at(name));
    }
  }

 private:
  static std::map<std::string, std::string> kinds(const Compiled& compiled) {
    std::map<std::string, std::string> result;
    for (const Json& group : compiled.report.at("groups"))
      result[group.at("name").get<std::string>()] = group.at("schedule").get<std::string>();
    return result;
  }
  static void compare(const NdArray& actual, const NdArray& expected) {
    REQUIRE(actual.shape() == expected.shape());
    for (std::int64_t i = 0; i < actual.count(); ++i) {
      INFO("element " << i);
      REQUIRE(std::abs(actual.as_double(i) - expected.as_double(i)) <=
              1e-5 * std::max(1.0, std::abs(expected.as_double(i))));
    }
  }

  graph::Graph graph_;
  graph::Node node_;
  std::map<std::string, NdArray> inputs_;
};

NdArray values(const Shape& shape, int seed = 1) {
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_double(i, std::sin(static_cast<double>(i * 7 + seed * 13)));
  return array;
}
NdArray numbers(const Shape& shape, const std::vector<std::int64_t>& list) {
  return NdArray::from<std::int64_t>(shape, list);
}
NdArray bytes(const Shape& shape) {
  NdArray array(DType::int8, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i * 97 % 256 - 128);
  return array;
}
NdArray lengths(const std::vector<std::int32_t>& list) {
  return NdArray::from<std::int32_t>({static_cast<std::int64_t>(list.size())}, list);
}

}  // namespace

TEST_CASE("recurrent layers on the CPU equal the reference") {
  // 32 elements of state fill vectors, 21 do not.
  for (const auto& [weights_known, hidden] : {std::pair{true, std::int64_t{21}}, {true, 32}, {false, 21}})
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      INFO(hidden << ", " << direction << (weights_known ? "" : ", weights computed at run time"));
      const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
      const auto layer = [&](const std::string& op, std::int64_t gates) {
        OneNode node(op);
        node.input(values({6, 3, 10}));
        const NdArray w = values({directions, gates * hidden, 10}, 2),
                      r = values({directions, gates * hidden, hidden}, 3);
        if (weights_known) {
          node.constant(w).constant(r);
        } else {
          node.input(w).input(r);
        }
        return node.constant(values({directions, 2 * gates * hidden}, 4))
            .input(lengths({6, 2, 4}))
            .with("direction", direction)
            .with("hidden_size", hidden);
      };
      layer("LSTM", 4).check(3);
      layer("GRU", 3).check(2);
      layer("GRU", 3).with("linear_before_reset", std::int64_t{1}).check(2);
      layer("RNN", 1).check(2);
    }
}

TEST_CASE("an LSTM with weights of bytes on the CPU equals the reference") {
  // 32 elements of state fill dot products, 21 do not.
  for (const std::int64_t hidden : {32, 21})
    for (const std::int64_t batch : {1, 3})
      for (const bool offset : {false, true}) {
        const std::int64_t columns = 4 * hidden;
        const NdArray recurrence = bytes({2, hidden, columns});
        NdArray sums(DType::int32, {2, columns});
        for (std::int64_t d = 0; d < 2; ++d)
          for (std::int64_t j = 0; j < columns; ++j) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < hidden; ++k) sum += recurrence.as_int64((d * hidden + k) * columns + j);
            sums.set_int64(d * columns + j, sum);
          }
        NdArray scale(DType::float32, {2, columns}), zero_point(DType::int8, {2});
        for (std::int64_t i = 0; i < scale.count(); ++i)
          scale.set_double(i, 0.002 + 0.0001 * static_cast<double>(i % 7));
        zero_point.set_int64(0, 5), zero_point.set_int64(1, -7);
        OneNode layer("dovetail.dynamic_lstm");
        layer.input(values({5, batch, 2 * columns})).constant(recurrence).constant(sums).constant(scale);
        offset ? layer.constant(zero_point) : layer.omitted();
        layer.with("direction", "bidirectional").with("hidden_size", hidden).check(3);
      }
}

TEST_CASE("scatters, selections and transposed convolutions on the CPU equal the reference") {
  const NdArray places = numbers({4, 3}, {0, 1, 2, 2, -1, 0, 0, 1, 1, 3, 0, 2});
  for (const std::string reduction : {"none", "add", "max"})
    OneNode("ScatterElements")
        .input(values({4, 3}))
        .input(places)
        .input(values({4, 3}, 2))
        .with("reduction", reduction)
        .check(1);
  OneNode("ScatterND").input(values({4, 20})).input(numbers({3, 1}, {1, 3, 1})).input(values({3, 20}, 2)).check(1);
  OneNode("TopK").input(values({5, 40})).constant(numbers({1}, {7})).check(2);
  OneNode("TopK").input(values({40, 5})).constant(numbers({1}, {40})).with("axis", std::int64_t{0}).check(2);
  using Ints = std::vector<std::int64_t>;
  OneNode("MaxPool")
      .input(values({1, 3, 9, 9}))
      .with("kernel_shape", Ints{3, 3})
      .with("pads", Ints{1, 1, 1, 1})
      .check(2);
  for (const std::int64_t group : {1, 2})
    OneNode("ConvTranspose")
        .input(values({1, 4, 7, 9}))
        .constant(values({4, 6, 4, 3}, 2))
        .constant(values({6 * group}, 3))
        .with("strides", Ints{2, 2})
        .with("pads", Ints{1, 1, 1, 1})
        .with("output_padding", Ints{0, 1})
        .with("group", group)
        .check(1);
  OneNode("GridSample").input(values({1, 3, 6, 7})).input(values({1, 4, 5, 2}, 3)).check(1);
}
