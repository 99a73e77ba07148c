// Products of matrices and convolutions as tiles: random shapes and random decisions, and that what the back end makes
// of them is what makes them fast: shared memory, sums in registers, blocks for every processor.
#include <array>

#include <fmt/ranges.h>

#include "base/random.h"
#include "compiler/ops/op.h"
#include "loops/parse.h"
#include "loops/rewrite.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/kernel_case.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kKind = "matrix_product";

const cuda::Gpu& gpu() {
  static const cuda::Gpu made = cuda::parse_gpu("", cuda::kDefaultArchitectures).value();
  return made;
}

NdArray random_values(const graph::TensorType& type, SplitMix64& random) {
  NdArray array(type.dtype, type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const auto value = static_cast<std::int64_t>(random.next() % 255) - 127;
    is_floating(type.dtype) ? array.set_double(i, static_cast<double>(value) / 99) : array.set_int64(i, value);
  }
  return array;
}

// y = activation(a * b), with what follows a layer in float and in int8.
loops::Program layer(std::int64_t m, std::int64_t n, std::int64_t k, bool integer, bool transposed) {
  const std::string type = integer ? "int8" : "float32", zero = integer ? "0" : "0.0",
                    b = transposed ? "b[j, l]" : "b[l, j]", shape = transposed ? "{1}, {2}" : "{2}, {1}",
                    product = integer ? "int32(a[i, l]) * int32(" + b + ")" : "a[i, l] * " + b,
                    result = integer ? "int8(min(max(requantize(s[i, j], c[j], 3), -128), 127))"
                                     : "max(s[i, j] + c[j], 0.0)";
  const std::string text = "program layer {{ input a: " + type + "[{0}, {2}] input b: " + type + "[" + shape +
                           "] input c: float32[{1}] output y: " + type +
                           "[{0}, {1}] alloc s: " + (integer ? "int32" : "float32") +
                           "[{0}, {1}] for i0 in {0} {{ for j0 in {1} {{ for l0 in {2} {{ block gemm {{ spatial i in "
                           "{0} = i0 spatial j in {1} "
                           "= j0 reduce l in {2} = l0 reads s[i, j], a[i, l], " +
                           b + " writes s[i, j] init {{ s[i, j] = " + zero + " }} s[i, j] = s[i, j] + " + product +
                           " }} }} }} }} for i1 in {0} {{ for j1 in {1} {{ block end {{ spatial i in {0} "
                           "= i1 spatial j in {1} = j1 reads s[i, j], c[j] writes y[i, j] y[i, j] = " +
                           result + " }} }} }} }}";
  auto program = loops::parse_program(fmt::format(fmt::runtime(text), m, n, k), "layer");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

Case layer_case(const loops::Program& program, const schedule::FindRecorded& recorded, std::uint64_t seed) {
  std::vector<NdArray> arguments;
  SplitMix64 random(seed);
  for (const loops::Parameter& parameter : program.parameters)
    if (parameter.role != loops::ParameterRole::output)
      arguments.push_back(random_values({parameter.buffer->dtype, parameter.buffer->shape}, random));
  auto scheduled = cuda::schedule_group(program, gpu(), recorded);
  if (!scheduled) FAIL(to_string(scheduled.errors()));
  auto expected = loops::evaluate(program, arguments);
  return {program.name, std::move(arguments), std::move(expected), *std::move(scheduled)};
}

std::vector<Case> layers() {
  std::vector<Case> list;
  constexpr std::array<std::array<std::int64_t, 3>, 6> kShapes{
      {{37, 45, 50}, {2, 129, 33}, {64, 8, 64}, {18, 40, 7}, {33, 100, 40}, {130, 24, 9}}};
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    for (const bool integer : {false, true})
      for (const bool drawn : {false, true}) {
        const auto [m, n, k] = kShapes[i];
        const loops::Program program = layer(m, n, k, integer, i % 2 == 0);
        list.push_back(layer_case(program, drawn ? dovetail::test::drawn_schedules(i) : nullptr, i));
      }
  return list;
}

// A node with operands of these types.
Case node_case(const std::string& op, const std::vector<graph::TensorType>& types, graph::Attributes attributes,
               std::uint64_t seed, const schedule::FindRecorded& recorded) {
  graph::Graph graph;
  graph::Node node{"node", op, {}, {}, std::move(attributes), {"node"}};
  for (const graph::TensorType& type : types) node.inputs.push_back(graph.add_value("x", type));
  graph.inputs = node.inputs;
  node.outputs = {graph.add_value("y", {})};
  graph.outputs = node.outputs;
  const auto inferred = ops::infer(graph, graph.add_node(std::move(node)));
  if (!inferred) FAIL(op << ": " << to_string(inferred.errors()));
  SplitMix64 random(seed);
  constexpr std::uint64_t kMostSteps = 1'000'000;
  auto one = case_of(
      op, graph, kMostSteps, [&](const graph::TensorType& type) { return random_values(type, random); }, recorded);
  REQUIRE(one);
  return *std::move(one);
}

// Operators that are contractions, with borders, strides, transpositions, batches.
std::vector<Case> operators() {
  using Ints = std::vector<std::int64_t>;
  constexpr DType kFloat = DType::float32;
  struct Row {
    std::string op;
    std::vector<graph::TensorType> types;
    graph::Attributes attributes;
  };
  const std::vector<Row> rows{
      {"Gemm", {{kFloat, {40, 33}}, {kFloat, {18, 33}}, {kFloat, {18}}}, {{"transB", std::int64_t{1}}, {"alpha", 0.5}}},
      {"Gemm", {{kFloat, {33, 21}}, {kFloat, {33, 18}}}, {{"transA", std::int64_t{1}}}},
      {"MatMul", {{kFloat, {3, 20, 17}}, {kFloat, {3, 17, 20}}}, {}},
      {"MatMul", {{DType::int32, {2, 2, 20, 17}}, {DType::int32, {17, 24}}}, {}},
      {"MatMul", {{DType::float16, {19, 40}}, {DType::float16, {40, 16}}}, {}},
      {"MatMul", {{DType::float64, {19, 40}}, {DType::float64, {40, 16}}}, {}},
      {"MatMulInteger", {{DType::int8, {35, 40}}, {DType::int8, {40, 9}}}, {}},
      {"Conv",
       {{kFloat, {2, 5, 11, 13}}, {kFloat, {9, 5, 3, 3}}, {kFloat, {9}}},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv",
       {{kFloat, {1, 4, 12, 9}}, {kFloat, {6, 4, 3, 2}}},
       {{"dilations", Ints{2, 3}}, {"pads", Ints{0, 2, 1, 0}}}},
      {"Conv", {{kFloat, {1, 24, 6, 5}}, {kFloat, {17, 24, 1, 1}}}, {}},
      {"Conv", {{kFloat, {3, 6, 25}}, {kFloat, {10, 6, 4}}}, {{"pads", Ints{3, 0}}}},
      {"Conv", {{kFloat, {1, 3, 5, 6, 7}}, {kFloat, {9, 3, 2, 3, 2}}}, {}},
      {"Conv", {{kFloat, {2, 1, 16, 16}}, {kFloat, {8, 1, 5, 5}}}, {{"strides", Ints{1, 3}}}},
      {"Einsum", {{kFloat, {3, 20, 17}}, {kFloat, {3, 19, 17}}}, {{"equation", std::string("bij,bkj->bik")}}}};
  std::vector<Case> list;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const bool drawn : {false, true})
      list.push_back(node_case(rows[i].op, rows[i].types, rows[i].attributes, i,
                               drawn ? dovetail::test::drawn_schedules(i) : nullptr));
  return list;
}

}  // namespace

TEST_CASE("cuda: tiles of products have the operator's values in adversarial orders of threads") {
  std::vector<Case> all = layers();
  for (Case& one : operators()) all.push_back(std::move(one));
  for (const Case& one : all) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kKind);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of tiles of products has the operator's values, compiled for this machine") {
  std::vector<Case> all = layers();
  for (Case& one : operators()) all.push_back(std::move(one));
  check_text(all);
}

TEST_CASE("cuda: tiles of products compile by NVRTC") {
  std::vector<Case> list;
  for (const bool integer : {false, true}) list.push_back(layer_case(layer(37, 45, 50, integer, integer), nullptr, 1));
  check_nvrtc(list);
}

TEST_CASE("cuda: a product of matrices is computed in registers, from shared memory, on every processor") {
  for (const bool integer : {false, true})
    for (const bool transposed : {false, true}) {
      const auto scheduled = cuda::schedule_group(layer(1024, 1024, 1024, integer, transposed), gpu(), nullptr).value();
      INFO(loops::to_string(scheduled.kernels));
      CHECK(scheduled.kind == kKind);
      REQUIRE(scheduled.kernels.kernels.size() == 1);
      const loops::ThreadKernel& kernel = scheduled.kernels.kernels[0];
      CHECK(kernel.blocks() >= gpu().processors);
      CHECK(kernel.threads() % 32 == 0);
      CHECK(kernel.shared.size() == 2);
      REQUIRE(kernel.local.size() == 1);
      CHECK(element_count(kernel.local[0]->shape) >= 16);
      // The fetch of the next piece waits for its readers, and they wait for the fetch.
      CHECK(dovetail::test::count_barriers(kernel.body) == 2);
      const std::string text = cuda::emit_source(scheduled.kernels, scheduled.program.parameters, "k").text;
      CHECK_THAT(text, ContainsSubstring("alignas(16) __shared__") && ContainsSubstring("#pragma unroll"));
    }
  // Few rows: small tiles, so that most processors have one.
  const auto few = cuda::schedule_group(layer(8, 1000, 512, false, true), gpu(), nullptr).value();
  CHECK(few.kernels.kernels[0].blocks() >= 60);
}

TEST_CASE("cuda: faults planted in tiles of products are found") {
  const Case one = layer_case(layer(37, 45, 64, false, true), nullptr, 1);
  REQUIRE(one.scheduled.kind == kKind);
  const auto fault = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
    const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
    return !have.ok() || *have != *one.expected;
  };
  const auto changed = [&](const dovetail::test::Change& change) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, change);
    return kernels;
  };
  CHECK(!fault(one.scheduled.kernels, 1));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (const int barrier : {0, 1})
      CHECK(fault(dovetail::test::without_barrier(one.scheduled.kernels, barrier), seed));
    // Without what keeps stores and loads inside; a round of the depth too few, and one too many.
    CHECK(fault(changed([](const loops::Core& core) {
                  const auto* condition = core ? std::get_if<loops::CoreIf>(&core->node) : nullptr;
                  return condition != nullptr ? condition->then_body : core;
                }),
                seed));
    for (const int more : {-1, 1})
      CHECK(fault(changed([&](const loops::Core& core) {
                    const auto* loop = core ? std::get_if<loops::CoreLoop>(&core->node) : nullptr;
                    if (loop == nullptr || loop->kind != loops::ForKind::serial) return core;
                    loops::CoreLoop other = *loop;
                    other.extent += more;
                    return loops::make_core(std::move(other));
                  }),
                  seed));
    const auto unguarded = [](const loops::Expr& e) {
      const auto* n = std::get_if<loops::Select>(&e->node);
      return n != nullptr ? n->if_true : e;
    };
    CHECK(fault(changed([&](const loops::Core& core) {
                  const auto* store = core ? std::get_if<loops::CoreStore>(&core->node) : nullptr;
                  if (store == nullptr) return core;
                  loops::CoreStore other = *store;
                  for (loops::StoreTarget& target : other.targets)
                    target.value = loops::rewrite_expr(target.value, unguarded);
                  return loops::make_core(std::move(other));
                }),
                seed));
  }
}
