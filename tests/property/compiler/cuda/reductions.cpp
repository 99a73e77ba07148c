// Reductions by several threads, and normalized rows: random shapes, axes and decisions.
#include <array>

#include <fmt/ranges.h>

#include "compiler/graph/parse.h"
#include "compiler/ops/op.h"
#include "loops/core/core.h"
#include "loops/threads/accesses.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"
#include "tests/property/compiler/cuda/kernel_case.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;

namespace {

constexpr std::string_view kKind = "reduction";
using Ints = std::vector<std::int64_t>;
constexpr DType kFloat = DType::float32;

struct Row {
  std::string op;
  std::vector<graph::TensorType> types;
  graph::Attributes attributes;
  bool rounds = false;  // its results depend on inexact sums
};

std::vector<Row> rows() {
  return {
      {"ArgMax", {{kFloat, {5, 70}}}, {{"axis", std::int64_t{1}}}},
      {"ArgMin", {{DType::int8, {3, 40, 37}}}, {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}}},
      {"ReduceSum", {{DType::int32, {100}}}, {{"keepdims", std::int64_t{0}}}},
      {"ReduceSum", {{kFloat, {3000}}}, {}},
      {"ReduceMax", {{DType::uint8, {4, 33, 50}}}, {}},
      {"ReduceProd", {{DType::int64, {6, 64}}}, {}},
      {"ReduceMean", {{kFloat, {7, 128}}}, {}},
      {"ReduceL2", {{kFloat, {300}}}, {}, true},
      {"ReduceLogSumExp", {{kFloat, {200}}}, {}, true},
      {"GlobalAveragePool", {{kFloat, {2, 5, 7, 7}}}, {}},
      {"GlobalMaxPool", {{kFloat, {1, 40, 9, 4}}}, {}},
      {"GlobalAveragePool", {{DType::float16, {2, 3, 40}}}, {}},
      {"Softmax", {{kFloat, {6, 100}}}, {}, true},
      {"Softmax", {{kFloat, {3, 17, 40}}}, {{"axis", std::int64_t{1}}}, true},
      {"Softmax", {{kFloat, {2, 3, 5, 1500}}}, {}, true},
      {"LogSoftmax", {{kFloat, {1, 77}}}, {}, true},
      {"LogSoftmax", {{DType::float16, {9, 64}}}, {}, true},
      {"LayerNormalization", {{kFloat, {4, 10, 96}}, {kFloat, {96}}, {kFloat, {96}}}, {}, true},
      {"LayerNormalization", {{kFloat, {5, 6, 21}}, {kFloat, {6, 21}}}, {{"axis", std::int64_t{1}}}, true},
      {"RMSNormalization", {{kFloat, {3, 200}}, {kFloat, {200}}}, {}, true},
      {"InstanceNormalization", {{kFloat, {2, 5, 6, 7}}, {kFloat, {5}}, {kFloat, {5}}}, {}, true},
      {"GroupNormalization",
       {{kFloat, {2, 6, 5, 4}}, {kFloat, {6}}, {kFloat, {6}}},
       {{"num_groups", std::int64_t{2}}},
       true},
      {"MeanVarianceNormalization", {{kFloat, {3, 4, 5, 6}}}, {}, true},
      {"Gemm", {{kFloat, {1, 200}}, {kFloat, {30, 200}}, {kFloat, {30}}}, {{"transB", std::int64_t{1}}}},
      {"Gemm", {{kFloat, {1, 200}}, {kFloat, {200, 50}}, {kFloat, {50}}}, {}},
      {"MatMul", {{kFloat, {4, 130}}, {kFloat, {130, 45}}}, {}},
      {"MatMul", {{kFloat, {2, 3, 64}}, {kFloat, {64, 9}}}, {}},
      {"MatMul", {{kFloat, {20, 150}}, {kFloat, {150}}}, {}},
      {"MatMul", {{DType::int32, {3, 90}}, {DType::int32, {90, 40}}}, {}},
      {"MatMulInteger", {{DType::int8, {1, 700}}, {DType::int8, {700, 33}}}, {}},
  };
}

// The default schedule, and as many schedules of drawn decisions.
std::vector<Case> cases(int draws) {
  std::vector<Case> list;
  const std::vector<Row> all = rows();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (int drawn = 0; drawn <= draws; ++drawn) {
      list.push_back(
          node_case(all[i].op, all[i].types, all[i].attributes, i,
                    drawn > 0 ? dovetail::test::drawn_schedules(10 * i + static_cast<std::uint64_t>(drawn)) : nullptr,
                    cuda::FloatSums::free, !all[i].rounds));
      const bool half = all[i].types[0].dtype == DType::float16;
      if (all[i].rounds) list.back().tolerance = half ? 2e-3 : 1e-5;
    }
  return list;
}

}  // namespace

TEST_CASE("cuda: reductions by several threads have the operator's values in adversarial orders of threads") {
  for (const Case& one : cases(2)) {
    INFO(one.name << "\n" << schedule::to_string(one.scheduled.trace));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kKind);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of reductions by several threads has the operator's values, compiled for this machine",
          "[gpu]") {
  check_text(cases(1));
}

TEST_CASE("cuda: reductions by several threads compile by NVRTC") { check_nvrtc(cases(0)); }

namespace {

// The one group of a node, scheduled; nothing is run.
cuda::ScheduledGroup scheduled(const std::string& op, const std::vector<graph::TensorType>& types,
                               graph::Attributes attributes = {}, cuda::FloatSums float_sums = cuda::FloatSums::free) {
  static const cuda::Gpu gpu = cuda::parse_gpu("", cuda::kDefaultArchitectures).value();
  graph::Graph graph;
  graph::Node node{"node", op, {}, {}, std::move(attributes), {"node"}};
  for (const graph::TensorType& type : types) node.inputs.push_back(graph.add_value("x", type));
  graph.inputs = node.inputs;
  node.outputs = {graph.add_value("y", {})};
  graph.outputs = node.outputs;
  if (const auto inferred = ops::infer(graph, graph.add_node(std::move(node))); !inferred)
    FAIL(op << ": " << to_string(inferred.errors()));
  const auto groups = fuse_groups(graph, graph.topological_order()).value();
  REQUIRE(groups.size() == 1);
  return cuda::schedule_group(groups[0], gpu, nullptr, float_sums).value();
}

// The number of statements that read a buffer of that name.
int count_reads(const loops::ThreadKernel& kernel, const std::string& buffer) {
  int count = 0;
  loops::each_access(kernel.body, [&](const loops::Buffer& touched, const auto&, bool written) {
    count += !written && touched->name == buffer ? 1 : 0;
  });
  return count;
}

}  // namespace

TEST_CASE("cuda: rows are normalized by one kernel that reads them once, and every thread has their sums") {
  struct Normalization {
    std::string op;
    std::vector<graph::TensorType> types;
    int barriers;
  };
  // Rows of one warp need no barrier; rows of several warps need one for each sum, and one before its memory is reused.
  for (const Normalization& one :
       {Normalization{"Softmax", {{kFloat, {12, 128, 128}}}, 0}, Normalization{"Softmax", {{kFloat, {64, 4096}}}, 2},
        Normalization{"LayerNormalization", {{kFloat, {8, 128, 768}}, {kFloat, {768}}, {kFloat, {768}}}, 0},
        Normalization{"RMSNormalization", {{kFloat, {1, 4096}}, {kFloat, {4096}}}, 1}}) {
    const cuda::ScheduledGroup group = scheduled(one.op, one.types);
    INFO(loops::to_string(group.kernels));
    CHECK(group.kind == kKind);
    REQUIRE(group.kernels.kernels.size() == 1);
    const loops::ThreadKernel& kernel = group.kernels.kernels[0];
    CHECK(group.kernels.workspace.empty());
    CHECK(count_reads(kernel, "in0") == 1);
    CHECK(kernel.threads() % loops::kWarpLanes == 0);
    CHECK(dovetail::test::count_barriers(kernel.body) == one.barriers);
    std::int64_t shared = 0;
    for (const loops::Buffer& buffer : kernel.shared) shared += element_count(buffer->shape);
    CHECK(shared <= 64);
  }
}

TEST_CASE("cuda: few results of many elements keep all processors busy") {
  constexpr std::int64_t kProcessors = 108;
  // In parts: a kernel for the parts, and one that joins them.
  for (const cuda::ScheduledGroup& group :
       {scheduled("ReduceSum", {{kFloat, {1 << 20}}}, {{"keepdims", std::int64_t{0}}}),
        scheduled("Gemm", {{kFloat, {1, 16384}}, {kFloat, {16384, 256}}})}) {
    INFO(loops::to_string(group.kernels));
    CHECK(group.kind == kKind);
    REQUIRE(group.kernels.kernels.size() == 2);
    CHECK(group.kernels.kernels[0].blocks() * group.kernels.kernels[0].threads() >= kProcessors * 64);
    CHECK(group.kernels.workspace.size() == 1);
  }
  // A matrix times a vector: each warp has a row; with few vectors, one statement reads each element of the row.
  for (const std::int64_t vectors : {1, 4}) {
    const auto group = scheduled("Gemm", {{kFloat, {vectors, 1024}}, {kFloat, {1000, 1024}}, {kFloat, {1000}}},
                                 {{"transB", std::int64_t{1}}});
    INFO(loops::to_string(group.kernels));
    CHECK(group.kind == kKind);
    REQUIRE(group.kernels.kernels.size() == 1);
    CHECK(group.kernels.kernels[0].blocks() >= kProcessors);
    CHECK(count_reads(group.kernels.kernels[0], "in1") == 1);
  }
}

TEST_CASE("cuda: sums of floats keep their order where the level requires it; maxima are shared by threads") {
  constexpr auto kInOrder = cuda::FloatSums::in_order;
  CHECK(scheduled("ReduceSum", {{kFloat, {4, 1000}}}, {}, kInOrder).kind == "generic");
  CHECK(scheduled("Softmax", {{kFloat, {4, 1000}}}, {}, kInOrder).kind == "generic");
  CHECK(scheduled("ReduceMax", {{kFloat, {4, 1000}}}, {}, kInOrder).kind == kKind);
  CHECK(scheduled("ReduceSum", {{DType::int32, {4, 1000}}}, {}, kInOrder).kind == kKind);
}

TEST_CASE("cuda: faults planted in a row of a softmax are found by run_threads") {
  // Two warps for each row.
  Case one = node_case("Softmax", {{kFloat, {3, 150}}}, {}, 1, decided({{"threads", "64"}, {"rows_of_block", "1"}}),
                       cuda::FloatSums::free);
  one.tolerance = 1e-5;
  REQUIRE(one.scheduled.kind == kKind);
  const auto differs = [&](const Result<std::vector<NdArray>>& have) {
    if (!have.ok()) return true;
    for (std::int64_t i = 0; i < (*have)[0].count(); ++i)
      if (!(std::abs((*have)[0].as_double(i) - (*one.expected)[0].as_double(i)) <= 1e-5)) return true;
    return false;
  };
  const auto fault = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
    return differs(loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed));
  };
  const auto changed = [&](const dovetail::test::Change& change) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, change);
    return kernels;
  };
  const auto with_shuffles = [&](const std::function<void(loops::CoreShuffle&)>& change) {
    return changed([&](const loops::Core& core) {
      const auto* n = core ? std::get_if<loops::CoreShuffle>(&core->node) : nullptr;
      if (n == nullptr) return core;
      loops::CoreShuffle other = *n;
      change(other);
      return loops::make_core(std::move(other));
    });
  };
  INFO(loops::to_string(one.scheduled.kernels));
  CHECK(dovetail::test::count_barriers(one.scheduled.kernels.kernels[0].body) == 2);
  CHECK(!fault(one.scheduled.kernels, 1));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (int i = 0; i < dovetail::test::count_barriers(one.scheduled.kernels.kernels[0].body); ++i)
      CHECK(fault(dovetail::test::without_barrier(one.scheduled.kernels, i), seed));
    CHECK(fault(with_shuffles([](loops::CoreShuffle& n) { n.mask ^= 1U << 5; }), seed));
    CHECK(fault(with_shuffles([](loops::CoreShuffle& n) { n.distance = n.distance == 4 ? 8 : n.distance; }), seed));
    CHECK(fault(with_shuffles([](loops::CoreShuffle& n) { n.distance *= 2; }), seed));
    // Without the condition that keeps lanes apart at the end of a row.
    CHECK(fault(changed([](const loops::Core& core) {
                  const auto* condition = core ? std::get_if<loops::CoreIf>(&core->node) : nullptr;
                  return condition != nullptr ? condition->then_body : core;
                }),
                seed));
    // A lane that does not take part in the shuffles.
    const loops::BoundAxis& threads = one.scheduled.kernels.kernels[0].axes.back();
    CHECK(fault(changed([&](const loops::Core& core) {
                  return core && std::holds_alternative<loops::CoreShuffle>(core->node)
                             ? loops::core_if(
                                   loops::binary(loops::BinaryOp::ne, loops::ref(threads.var), loops::int_imm(3)), core)
                             : core;
                }),
                seed));
  }
  // The emulated GPU runs the text as it is: it does not report the fault, but its values differ.
  std::vector<Case> broken{one, one, one};
  broken[1].scheduled.kernels =
      with_shuffles([](loops::CoreShuffle& n) { n.distance = n.distance == 4 ? 8 : n.distance; });
  broken[2].scheduled.kernels = dovetail::test::without_barrier(one.scheduled.kernels, 0);
  const auto results = run_text(broken);
  CHECK(!differs(results[0]));
  CHECK(differs(results[1]));
  CHECK(differs(results[2]));
}

TEST_CASE("cuda: overlapping windows have the operator's values, with any decisions", "[gpu]") {
  std::vector<Case> list;
  const std::vector<Row> windows{
      {"Conv",
       {{kFloat, {1, 6, 9, 10}}, {kFloat, {6, 1, 3, 3}}},
       {{"group", std::int64_t{6}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv",
       {{kFloat, {2, 6, 8, 7}}, {kFloat, {4, 3, 2, 3}}, {kFloat, {4}}},
       {{"group", std::int64_t{2}}, {"strides", Ints{2, 1}}}},
      {"MaxPool", {{kFloat, {1, 3, 11, 9}}}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"AveragePool", {{kFloat, {2, 2, 9, 9}}}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
  };
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (std::uint64_t drawn = 0; drawn < 4; ++drawn)
      list.push_back(node_case(windows[i].op, windows[i].types, windows[i].attributes, i,
                               dovetail::test::drawn_schedules(7 * i + drawn), cuda::FloatSums::free, true));
  int several = 0;
  for (const Case& one : list) {
    several += schedule::to_string(one.scheduled.trace).find("_r\n") != std::string::npos ? 1 : 0;
    check_threads(one, 3);
  }
  CHECK(several >= 4);
  check_text(list);
}

TEST_CASE("cuda: threads share the reduction of a whole tensor also where the group has further results") {
  std::vector<Case> list;
  SplitMix64 random(3);
  const auto draw = [&](const graph::TensorType& type) { return random_values(type, random); };
  for (const Shape& shape : {Shape{3, 50, 40}, Shape{4099}, Shape{2, 257, 258}}) {
    const auto graph = graph::parse(fmt::format("graph g(%x: float32{0}) -> (%y, %scale, %zero)\n"
                                                "  %y: uint8{0}, %scale: float32[], %zero: uint8[] = "
                                                "DynamicQuantizeLinear(%x)\n",
                                                to_string(shape)),
                                    "dynamic");
    if (!graph) FAIL(to_string(graph.errors()));
    auto one = case_of("dynamic", *graph, 4'000'000, draw);
    REQUIRE(one);
    list.push_back(*std::move(one));
  }
  for (const Case& one : list) {
    INFO(loops::to_string(one.scheduled.program));
    CHECK(one.scheduled.kind == "generic");
    CHECK(std::ranges::count(one.scheduled.trace, "rfactor", &schedule::Step::primitive) ==
          (&one == &list.back() ? 4 : 2));
    check_threads(one, 2);
  }
  check_text(list);
}
