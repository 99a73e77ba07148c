// Reductions by several threads, and rows that are normalised: random shapes, axes and decisions.
#include <array>

#include <fmt/ranges.h>

#include "compiler/ops/op.h"
#include "tests/plant_faults.h"
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
  bool rounds = false;  // its results follow from sums that do not come out even
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

std::vector<Case> cases() {
  std::vector<Case> list;
  const std::vector<Row> all = rows();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (int drawn = 0; drawn < 3; ++drawn) {
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
  for (const Case& one : cases()) {
    INFO(one.name << "\n" << schedule::to_string(one.scheduled.trace));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kKind);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of reductions by several threads has the operator's values, compiled for this machine") {
  check_text(cases());
}

TEST_CASE("cuda: reductions by several threads compile by NVRTC") { check_nvrtc(cases()); }
