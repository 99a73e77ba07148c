// The example of a user-written back end: its code gives the reference's values, on the digits and on random chains
// that it takes whole.
#include <random>

#include <fmt/format.h>

#include "base/file.h"
#include "compiler/export/onnx.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/text/compiler/passes/make_graph.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::Finished;

namespace {

Finished backend_c(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), DOVETAIL_BINARY_DIR "/bin/backend_c");
  return test::run_process(arguments);
}

// Products with and without bias, sums, rectifiers, values with two readers.
graph::Graph random_chain(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  test::GraphMaker make;
  const auto array = [&](Shape shape) {
    NdArray values(DType::float32, std::move(shape));
    for (float& value : values.data<float>()) value = static_cast<float>(below(2001) - 1000) / 1000;
    return make.constant(fmt::format("k{}", make.graph.values.size()), std::move(values));
  };
  ValueId x = make.input("x", DType::float32, {1 + below(3), 1 + below(5)}), before = x;
  for (std::int64_t i = 0, nodes = 2 + below(6); i < nodes; ++i) {
    const std::int64_t columns = make.graph.value(x).type.shape[1], next = 1 + below(7);
    const std::string name = fmt::format("v{}", i);
    const ValueId last = x;
    switch (below(5)) {
      case 0:
        x = make.node("Gemm", name, {x, array({next, columns}), array({next})}, {{"transB", std::int64_t{1}}});
        break;
      case 1:
        x = make.node("Add", name, {array({next}), make.node("MatMul", name + "p", {x, array({columns, next})})});
        break;
      case 2: x = make.node("MatMul", name, {x, array({columns, next})}); break;
      case 3: x = make.node("Relu", name, {x}); break;
      default: x = make.node("Add", name, {x, make.graph.value(before).type == make.graph.value(x).type ? before : x});
    }
    before = last;
  }
  make.output(x);
  return std::move(make.graph);
}

}  // namespace

TEST_CASE("the C back end computes its part of the digits, and the kit the rest") {
  for (const char* targets : {"c,cpu", "c,accel,cpu", "c,host", "cpu"}) {
    const Finished run = backend_c({DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx", "--target", targets});
    INFO(targets);
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("equal up to rounding"));
    if (targets != std::string("cpu"))
      CHECK_THAT(run.out, ContainsSubstring("dense2                   Gemm               c ") &&
                              ContainsSubstring("no pattern of c ends in Conv"));
  }
  CHECK_THAT(
      backend_c({DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx", "--target", "c", "--strict"}).error,
      ContainsSubstring("c does not support conv1 (conv1): no pattern of c ends in Conv. Hint: add cpu to --target"));
  CHECK_THAT(backend_c({DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx", "--target", "d"}).error,
             ContainsSubstring("the targets are c, accel, cpu, host"));
  CHECK(backend_c({}).exit == 2);
}

TEST_CASE("the C back end takes random chains whole") {
  const test::TemporaryFolder folder;
  std::string all;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const graph::Graph graph = random_chain(seed);
    INFO("seed " << seed << "\n" << graph::to_string(graph));
    const auto bytes = export_onnx(graph, "chain");
    REQUIRE(bytes.ok());
    REQUIRE(write_file(folder / "chain.onnx", *bytes).ok());
    const Finished run = backend_c({folder / "chain.onnx", "--target", "c", "--strict", "--source"});
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("equal up to rounding"));
    // One region: no other node is between its matches.
    CHECK(run.out.find("void region(") == run.out.rfind("void region("));
    all += run.out;
  }
  for (const char* row : {": dense layer */", ": product */", ": sum */", ": rectifier */", "static float"})
    CHECK_THAT(all, ContainsSubstring(row));
}
