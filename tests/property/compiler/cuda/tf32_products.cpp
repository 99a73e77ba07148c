// Products of float32 in TF32 by four warps (wgmma, sm_90a): each factor is rounded once, constants ahead of time,
// others on their way to shared memory or by a kernel before the product. Small integers give the operator's values bit
// for bit; on other numbers the emulated GPU, whose unit truncates factors, gives the bits of run_threads, whose
// program rounds them.
#include <cmath>
#include <string>

#include "compiler/graph/parse.h"
#include "tests/property/compiler/cuda/group_cases.h"
#include "tests/property/compiler/cuda/text_faults.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const cuda::Gpu& hopper_tf32() {
  static const cuda::Gpu gpu = [] {
    cuda::Gpu made = hopper();
    made.tf32 = true;
    return made;
  }();
  return gpu;
}

enum class Rounded { on_the_way, first };
schedule::Decisions in_tf32(schedule::Decisions decisions, Rounded rounded) {
  decisions["prepare_first"] = rounded == Rounded::first ? "1" : "0";
  return decisions;
}

// Variable operands in each storage order, ragged edges, rows at addresses that a box and a vector cannot begin at,
// parts of the depth, workers, one and two groups of warps.
std::vector<Case> tf32_layers(bool whole_numbers) {
  struct One {
    std::int64_t m, n, k;
    bool right_transposed, left_turned;
    schedule::Decisions decisions;
    std::int64_t before = 0;
  };
  const auto stream = [](schedule::Decisions decisions) {
    decisions["stream"] = "1";
    return decisions;
  };
  const std::vector<One> all{
      {64, 32, 128, true, false, in_tf32(tile("1", "32", "4", "3"), Rounded::first)},
      {64, 32, 128, true, false, in_tf32(tile("1", "32", "4", "3"), Rounded::on_the_way)},
      {70, 24, 36, false, true, in_tf32(tile("1", "16", "2", "2"), Rounded::first)},
      {70, 24, 36, false, true, in_tf32(tile("1", "16", "2", "2"), Rounded::on_the_way)},
      {40, 14, 51, true, true, in_tf32(tile("1", "16", "4", "1"), Rounded::on_the_way), 1},
      {37, 20, 70, false, false, in_tf32(tile("1", "32", "2", "4"), Rounded::first), 3},
      {130, 16, 64, true, false, in_tf32(tile("2", "16", "2", "3"), Rounded::on_the_way)},
      {64, 16, 128, true, false, in_tf32(tile("1", "16", "4", "2", "2"), Rounded::first)},
      {200, 16, 64, true, false, in_tf32(tile("1", "16", "2", "4", "1", "2"), Rounded::on_the_way)},
      {200, 16, 64, false, false, in_tf32(tile("1", "16", "2", "4", "1", "2"), Rounded::first)}};
  std::vector<Case> list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const One& one = all[i];
    list.push_back(
        layer_case(layer(one.m, one.n, one.k, DType::float32, one.right_transposed, true, one.left_turned, one.before),
                   decided(one.decisions), i, hopper_tf32(), whole_numbers || dovetail::test::tests_device()));
  }
  cuda::Gpu three = hopper_tf32();
  three.processors = 3;
  for (const Rounded rounded : {Rounded::first, Rounded::on_the_way})
    list.push_back(layer_case(layer(130, 40, 160, DType::float32, true, true),
                              decided(stream(in_tf32(tile("1", "32", "4", "3"), rounded))), 3, three,
                              whole_numbers || dovetail::test::tests_device()));
  return list;
}

NdArray tf32_numbers(const graph::TensorType& type, SplitMix64& random, bool whole) {
  NdArray array = random_values(type, random);
  for (std::int64_t i = 0; whole && i < array.count(); ++i)
    array.set_double(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 9) - 4));
  return array;
}

// Constant weights: stored with contiguous columns, or shared with another operator; windows, with and without padding;
// an activation before the product.
constexpr const char* kTf32Graphs[] = {
    R"(graph weights(%x: float32[40, 48]) -> (%y)
  constant %w: float32[48, 24]
  %y: float32[40, 24] = MatMul(%x, %w)
)",
    R"(graph window(%x: float32[1, 8, 7, 9]) -> (%z)
  constant %w: float32[40, 8, 3, 3]
  constant %b: float32[40]
  %y: float32[1, 40, 7, 9] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %z: float32[1, 40, 7, 9] = Relu(%y)
)",
    R"(graph point(%x: float32[2, 20, 6, 8]) -> (%y)
  constant %w: float32[36, 20, 1, 1]
  %y: float32[2, 36, 6, 8] = Conv(%x, %w)
)",
    R"(graph variables(%x: float32[2, 40, 32], %w: float32[2, 32, 24]) -> (%y)
  %y: float32[2, 40, 24] = MatMul(%x, %w)
)"};
std::vector<Case> tf32_graphs(bool whole, const cuda::Gpu& gpu = hopper_tf32()) {
  std::vector<Case> list;
  SplitMix64 random(11);
  const auto draw = [&](const graph::TensorType& type) {
    return tf32_numbers(type, random, whole || dovetail::test::tests_device());
  };
  for (const char* text : kTf32Graphs) {
    const auto graph = graph::parse(text, "graph", [&](auto, const graph::TensorType& type) { return draw(type); });
    if (!graph) FAIL(to_string(graph.errors()));
    auto one =
        case_of(graph->name, *graph, 4'000'000, draw, nullptr, cuda::FloatSums::free, gpu.tf32, std::nullopt, gpu);
    REQUIRE(one);
    list.push_back(*std::move(one));
  }
  return list;
}

std::vector<Case> all_tf32_cases(bool whole) {
  std::vector<Case> list = tf32_layers(whole);
  for (Case& one : tf32_graphs(whole)) list.push_back(std::move(one));
  return list;
}

std::string tf32_text_of(const Case& one) {
  std::string text;
  sources_of({one}, text);
  return text;
}

}  // namespace

TEST_CASE("cuda: TF32 products of four warps have the operator's values on small integers") {
  for (const Case& one : all_tf32_cases(true)) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kGroupProduct);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of TF32 products of four warps has the operator's values on small integers", "[gpu]") {
  check_group_text(all_tf32_cases(true));
}

TEST_CASE("cuda: the factors of TF32 products of four warps are rounded, all of them and only once") {
  const std::vector<Case> list = all_tf32_cases(false);
  const auto results = run_text(list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Case& one = list[i];
    INFO(one.name << "\n" << loops::to_string(one.scheduled.kernels));
    REQUIRE(results[i].ok());
    const auto rounded = loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, i);
    REQUIRE(rounded.ok());
    CHECK(*results[i] == *rounded);
    const NdArray &have = (*rounded)[0], &exact = (*one.expected)[0];
    double largest = 0, error = 0;
    for (std::int64_t e = 0; e < exact.count(); ++e) {
      largest = std::max(largest, std::abs(exact.as_double(e)));
      error = std::max(error, std::abs(have.as_double(e) - exact.as_double(e)));
    }
    CHECK(error > 1e-6 * largest);
    CHECK(error < 2e-3 * largest);
  }
}

TEST_CASE("cuda: a kernel before a TF32 product lets boxes load what it has rounded") {
  const auto boxes_of = [](const Case& one) {
    std::size_t boxes = 0;
    for (const loops::ThreadKernel& kernel : one.scheduled.kernels.kernels)
      boxes += static_cast<std::size_t>(std::ranges::count(steps_of(kernel.body), "box"));
    return boxes;
  };
  const std::vector<Case> list = tf32_layers(true);
  CHECK(list[0].scheduled.kernels.kernels.size() == 3);  // a kernel for each operand, and the product
  CHECK(boxes_of(list[0]) > 0);
  CHECK(list[1].scheduled.kernels.kernels.size() == 1);
  CHECK(boxes_of(list[1]) == 0);
  CHECK(boxes_of(list[2]) > 0);  // the kernels store both operands with the depth last
  // Constants are rounded, and stored with the depth last, ahead of time.
  const Case weights = tf32_graphs(true)[0];
  CHECK(weights.scheduled.constants.size() == 1);
  CHECK(weights.scheduled.constants.begin()->second.shape() == Shape{24, 48});
  CHECK(boxes_of(weights) > 0);
}

TEST_CASE("cuda: TF32 by four warps needs permission, its architecture and 32 rows") {
  for (const Case& one : tf32_graphs(true, hopper())) CHECK(one.scheduled.kind == "matrix_product");
  cuda::Gpu ampere = cuda::parse_gpu("", "sm_80").value();
  ampere.tf32 = true;
  const std::vector<Case> older = tf32_graphs(false, ampere), newer = tf32_graphs(false);
  for (std::size_t i = 0; i < older.size(); ++i) {
    INFO(older[i].name);
    CHECK(older[i].scheduled.kind == "tensor_product");
    // Kernels of both architectures in a bundle have the same constants.
    CHECK(older[i].scheduled.constants == newer[i].scheduled.constants);
    CHECK_THAT(tf32_text_of(older[i]), ContainsSubstring("mma_tf32("));
    CHECK_THAT(tf32_text_of(newer[i]), ContainsSubstring("wgmma_tf32<"));
  }
  const auto kind = [](std::int64_t rows) {
    return layer_case(layer(rows, 64, 64, DType::float32, true, true), nullptr, 1, hopper_tf32()).scheduled.kind;
  };
  CHECK(kind(32) == kGroupProduct);
  CHECK(kind(16) == "tensor_product");
}

TEST_CASE("cuda: TF32 products of four warps compile by NVRTC") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  std::string text;
  sources_of(all_tf32_cases(true), text);
  const auto binary = (*compiler)->compile(text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  CHECK_THAT(ptx, ContainsSubstring("wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32"));
}

TEST_CASE("cuda: faults planted in the text of TF32 products of four warps are found by the emulated GPU") {
  for (const std::size_t which : {0, 1}) {
    Case one = tf32_layers(false)[which];
    one.expected = loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, 1);
    REQUIRE(one.expected.ok());
    INFO(tf32_text_of(one));
    const std::string call = "wgmma_tf32<32, false, false>(";
    check_text_faults(one, {{"two sums of a lane exchanged", exchanged(call, 2, 3)},
                            {"the matrices exchanged", exchanged(call, 0, 1)},
                            {"factors are truncated", replaced("uint32_t(4096ll)", "uint32_t(0ll)")},
                            {"nobody arrives", replaced("arrive_for_calls();", "")},
                            {"calls are not committed", replaced("commit_calls();", "")},
                            {"no barrier", replaced("__syncthreads();", "")},
                            {"calls with another swizzle", replaced(", 128>(&", ", 64>(&")}});
  }
}
