// Every operator, with random operands, on the CUDA back end without a GPU: its kernels in adversarial orders of
// threads (run_threads), the text of the kernels compiled for this machine (tests/emulated_gpu), and compiled by NVRTC.
// The values must be those of the operator's program, bit for bit.
#include <optional>

#include "compiler/ops/op.h"
#include "tests/generator_graphs/random_node.h"
#include "tests/property/compiler/cuda/kernel_case.h"

using namespace dovetail;
using namespace dovetail::cuda::test;

namespace {

constexpr std::uint64_t kTries = 100;
constexpr std::uint64_t kMostSteps = 5'000;  // bound of a case, so that evaluating it is quick

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const ops::OpDef& def : ops::all()) {
    std::optional<Case> found;
    for (std::uint64_t seed = 0; seed < kTries && !found; ++seed) {
      dovetail::test::RandomNode random(def, seed, {1, 2, 3, 5, 7});
      graph::Graph graph;
      graph.name = "one";
      if (random.add_to(graph, "n"))
        found = case_of(def.op, graph, kMostSteps, [&](const graph::TensorType& type) { return random.values(type); });
    }
    if (found) list.push_back(*std::move(found));
  }
  REQUIRE(list.size() > ops::all().size() / 2);
  return list;
}

}  // namespace

TEST_CASE("cuda: every operator's kernels give its values in adversarial orders of threads") {
  for (const Case& one : cases()) check_threads(one, 7);
}

TEST_CASE("cuda: the text of every operator's kernels gives its values, compiled for this machine", "[gpu]") {
  check_text(cases());
}

TEST_CASE("cuda: an index outside an extent of 1 is reported, not replaced by 0", "[gpu]") {
  graph::Graph graph;
  graph.name = "gather";
  const graph::ValueId data = graph.add_value("data", {DType::float32, {1, 3}});
  const graph::ValueId indices = graph.add_value("indices", {DType::int64, {2}});
  const graph::ValueId result = graph.add_value("result", {DType::float32, {2, 3}});
  graph.inputs = {data, indices};
  graph.outputs = {result};
  graph.add_node({"gather", "Gather", {data, indices}, {result}, {}, {"gather"}});
  for (const bool inside : {true, false}) {
    std::optional<Case> one = case_of("Gather", graph, kMostSteps, [&](const graph::TensorType& type) {
      return type.dtype == DType::int64 ? NdArray::from<std::int64_t>({2}, {0, inside ? 0 : 5})
                                        : NdArray::from<float>({1, 3}, {1, 2, 3});
    });
    REQUIRE(one);
    CHECK(one->expected.ok() == inside);
    std::vector<Case> list;
    list.push_back(*std::move(one));
    check_text(list);
  }
}

TEST_CASE("cuda: the kernels of every operator compile by NVRTC") { check_nvrtc(cases()); }
