// Products of matrices and convolutions as tiles: random shapes and random decisions, and that what the back end makes
// of them is what makes them fast: shared memory, sums in registers, blocks for every processor.
#include <array>

#include <fmt/ranges.h>

#include "compiler/ops/op.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"
#include "tests/property/compiler/cuda/kernel_case.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kKind = "matrix_product", kTensorKind = "tensor_product";

std::vector<Case> layers() {
  std::vector<Case> list;
  constexpr std::array<std::array<std::int64_t, 3>, 6> kShapes{
      {{37, 45, 50}, {9, 129, 33}, {64, 10, 64}, {18, 40, 7}, {33, 100, 40}, {130, 24, 9}}};
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    for (const bool integer : {false, true})
      for (const bool drawn : {false, true}) {
        const auto [m, n, k] = kShapes[i];
        const loops::Program program = layer(m, n, k, integer ? DType::int8 : DType::float32, i % 2 == 0);
        list.push_back(layer_case(program, drawn ? dovetail::test::drawn_schedules(i) : nullptr, i));
      }
  return list;
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
    CHECK((one.scheduled.kind == kKind || one.scheduled.kind == kTensorKind));
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
  for (const bool integer : {false, true})
    list.push_back(layer_case(layer(37, 45, 50, integer ? DType::int8 : DType::float32, integer), nullptr, 1));
  check_nvrtc(list);
}

TEST_CASE("cuda: NVIDIA's compiler makes wide loads and stores of neighbours") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  const Case one = layer_case(layer(64, 64, 64, DType::float32, false), decided({{"sum_columns", "4"}}), 1);
  std::string text;
  sources_of({one}, text);
  const auto binary = (*compiler)->compile(text, "sm_80");
  if (!binary) FAIL(to_string(binary.errors()));
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  for (const char* wide : {"ld.shared.v4.f32", "st.global.v4.f32", "cp.async.cg.shared.global"}) {
    INFO(wide);
    CHECK(ptx.find(wide) != std::string::npos);
  }
}

TEST_CASE("cuda: a product of matrices is computed in registers, from shared memory, on every processor") {
  for (const bool integer : {false, true})
    for (const bool transposed : {false, true}) {
      const auto scheduled =
          cuda::schedule_group(group_of(layer(1024, 1024, 1024, integer ? DType::int8 : DType::float32, transposed)),
                               gpu(), nullptr)
              .value();
      INFO(loops::to_string(scheduled.kernels));
      CHECK(scheduled.kind == (integer ? kTensorKind : kKind));
      REQUIRE(scheduled.kernels.kernels.size() == 1);
      const loops::ThreadKernel& kernel = scheduled.kernels.kernels[0];
      CHECK(kernel.blocks() >= (integer ? gpu().processors / 2 : gpu().processors));
      CHECK(kernel.threads() % 32 == 0);
      CHECK(kernel.shared.size() == 2);
      REQUIRE(kernel.local.size() >= 1);  // the sums; a piece that is fetched into registers
      CHECK(element_count(kernel.local[0]->shape) >= 16);
      // A piece's readers wait for it; the copies of the next one follow, into the place of the one before, which all
      // have read by then.
      CHECK(dovetail::test::count_barriers(kernel.body) == 1);
      const std::string text = cuda::emit_source(scheduled.kernels, scheduled.program.parameters, "k").text;
      CHECK_THAT(text,
                 ContainsSubstring("alignas(16) __shared__") && ContainsSubstring("#pragma unroll") &&
                     (integer && !transposed ? ContainsSubstring("copy_async") : ContainsSubstring("copy_async<16>")));
    }
  // Few rows: small tiles, so that most processors have one.
  const auto few = cuda::schedule_group(group_of(layer(8, 1000, 512, DType::float32, true)), gpu(), nullptr).value();
  CHECK(few.kernels.kernels[0].blocks() >= 60);
}
