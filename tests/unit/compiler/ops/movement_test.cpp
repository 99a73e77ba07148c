// Operators that move elements: their outputs are compared with index arithmetic written here, or by hand.
#include <limits>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

// 0, 1, 2, ... so that a value shows its origin.
NdArray iota(const Shape& shape) {
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i);
  return array;
}
TEST_CASE("Reshape keeps row-major order for any grouping of axes") {
  const std::vector<std::pair<Shape, Shape>> pairs{{{2, 3, 4}, {2, 12}},   {{2, 3, 4}, {6, 4}},
                                                   {{2, 3, 4}, {4, 3, 2}}, {{2, 3, 4}, {24}},
                                                   {{24}, {2, 3, 4}},      {{1, 6, 1, 4}, {2, 1, 3, 4, 1}},
                                                   {{6, 6}, {4, 9}},       {{1}, {}},
                                                   {{}, {1, 1}},           {{5, 1}, {1, 5}}};
  for (const auto& [from, to] : pairs) {
    INFO(to_string(from) << " to " << to_string(to));
    require_close(Case("Reshape").input(iota(from)).constant(list(to)).run1(), iota(to), 0);
  }
  require_close(Case("Reshape").input(iota({2, 3, 4})).constant(list({0, -1})).run1(), iota({2, 12}), 0);
  require_close(Case("Reshape").input(iota({0, 3})).constant(list({3, 0})).integer("allowzero", 1).run1(), iota({3, 0}),
                0);
  CHECK(Case("Reshape").input(iota({2, 3})).constant(list({4, 2})).refusal() ==
        "error: cannot accept Reshape (node node): input [2, 3] has 6 elements, but shape [4, 2] has 8. Hint: they "
        "must be equal; was the model exported for another batch size?");
  CHECK_THAT(Case("Reshape").input(iota({2, 3})).constant(list({4, -1})).refusal(),
             Catch::Matchers::ContainsSubstring("6 elements of [2, 3] cannot be divided by the 4"));
  CHECK(Case("Reshape").input(iota({2, 3})).input(list({6})).refusal() ==
        "error: cannot accept Reshape (node node): input 1 (shape) is computed at run time, but shapes are fixed at "
        "compile time. Hint: make it an initializer, or fold "
        "constants first");
}

TEST_CASE("Flatten, Squeeze, Unsqueeze") {
  require_close(Case("Flatten").input(iota({2, 3, 4})).run1(), iota({2, 12}), 0);
  require_close(Case("Flatten").input(iota({2, 3, 4})).integer("axis", 0).run1(), iota({1, 24}), 0);
  require_close(Case("Flatten").input(iota({2, 3, 4})).integer("axis", -1).run1(), iota({6, 4}), 0);
  require_close(Case("Squeeze").input(iota({1, 3, 1, 2})).run1(), iota({3, 2}), 0);
  require_close(Case("Squeeze").input(iota({1, 3, 1, 2})).constant(list({-2})).run1(), iota({1, 3, 2}), 0);
  require_close(Case("Unsqueeze").input(iota({3, 2})).constant(list({4, 0, -3})).run1(),
                iota({1, 3, 1, 2, 1}).reshaped({1, 3, 1, 2, 1}), 0);
  CHECK(Case("Squeeze").input(iota({1, 3})).constant(list({1})).refusal() ==
        "error: cannot accept Squeeze (node node): axis 1 of [1, 3] has extent 3, but only extent 1 can be squeezed. "
        "Hint: use Reshape");
  CHECK_THAT(Case("Unsqueeze").input(iota({3})).constant(list({2})).refusal(),
             Catch::Matchers::ContainsSubstring("axis 2 does not exist in a tensor of rank 2"));
}

TEST_CASE("Transpose") {
  const NdArray x = iota({2, 3, 4});
  NdArray expected(DType::float32, {4, 2, 3});
  for_each_index(expected.shape(), [&](const Shape& p) {
    expected.set_int64(flat(expected.shape(), p), flat(x.shape(), {p[1], p[2], p[0]}));
  });
  require_close(Case("Transpose").input(x).ints("perm", {2, 0, 1}).run1(), expected, 0);
  require_close(Case("Transpose").input(iota({2, 2})).run1(), floats({2, 2}, {0, 2, 1, 3}), 0);
  CHECK_THAT(Case("Transpose").input(x).ints("perm", {0, 0, 1}).refusal(),
             Catch::Matchers::ContainsSubstring("axis 0 is given twice in [0, 0, 1]"));
}

TEST_CASE("Concat and Split are inverse, parts without elements included") {
  const NdArray x = iota({2, 5});
  const std::vector<NdArray> parts = Case("Split", 3).input(x).constant(list({2, 0, 3})).integer("axis", -1).run();
  require_close(parts[0], floats({2, 2}, {0, 1, 5, 6}), 0);
  CHECK(parts[1].shape() == Shape{2, 0});
  require_close(Case("Concat").input(parts[0]).input(parts[1]).input(parts[2]).integer("axis", 1).run1(), x, 0);
  const std::vector<NdArray> uneven = Case("Split", 3).input(iota({7})).integer("num_outputs", 3).run();
  require_close(uneven[2], floats({1}, {6}), 0);
  require_close(Case("Split", 2).input(iota({4})).run()[1], floats({2}, {2, 3}), 0);
  CHECK_THAT(Case("Split", 2).input(iota({5})).refusal(),
             Catch::Matchers::ContainsSubstring("extent 5 of axis 0 does not divide into 2 equal parts"));
  CHECK_THAT(Case("Concat").input(iota({2, 3})).input(iota({3, 3})).integer("axis", 1).refusal(),
             Catch::Matchers::ContainsSubstring(
                 "input 1 has shape [3, 3], but input 0 has [2, 3]; all extents but that of axis 1 must be equal"));
}

TEST_CASE("Slice clamps as Python does, in both directions") {
  for (const std::int64_t step : {-3, -2, -1, 1, 2, 5})
    for (std::int64_t start = -9; start <= 9; ++start)
      for (std::int64_t end = -9; end <= 9; end += 3) {
        const std::int64_t n = 6;
        // Python's slice.indices.
        const auto clamp = [&](std::int64_t v) {
          if (v < 0) v += n;
          return step > 0 ? std::min(std::max<std::int64_t>(v, 0), n) : std::min(std::max<std::int64_t>(v, -1), n - 1);
        };
        std::vector<float> expected;
        for (std::int64_t i = clamp(start); step > 0 ? i < clamp(end) : i > clamp(end); i += step)
          expected.push_back(static_cast<float>(i));
        require_close(Case("Slice")
                          .input(iota({n}))
                          .constant(list({start}))
                          .constant(list({end}))
                          .omitted()
                          .constant(list({step}))
                          .run1(),
                      floats({static_cast<std::int64_t>(expected.size())}, expected), 0);
      }
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  require_close(
      Case("Slice").input(iota({2, 4})).constant(list({1})).constant(list({most})).constant(list({-1})).run1(),
      floats({2, 3}, {1, 2, 3, 5, 6, 7}), 0);
  require_close(Case("Slice")
                    .input(iota({3}))
                    .constant(list({-1}))
                    .constant(list({-most - 1}))
                    .constant(list({0}))
                    .constant(list({-1}))
                    .run1(),
                floats({3}, {2, 1, 0}), 0);
}

TEST_CASE("Gather, GatherElements, GatherND count negative indices from the end") {
  const NdArray x = iota({3, 2});
  require_close(Case("Gather").input(x).input(list({2, -3})).run1(), floats({2, 2}, {4, 5, 0, 1}), 0);
  require_close(Case("Gather").input(x).constant(NdArray::from<std::int32_t>({1, 2}, {1, 0})).integer("axis", 1).run1(),
                floats({3, 1, 2}, {1, 0, 3, 2, 5, 4}), 0);
  require_close(Case("Gather").input(x).constant(NdArray::scalar(std::int64_t{1})).run1(), floats({2}, {2, 3}), 0);
  require_close(Case("GatherElements").input(x).input(NdArray::from<std::int64_t>({2, 2}, {0, 2, -1, 1})).run1(),
                floats({2, 2}, {0, 5, 4, 3}), 0);
  require_close(Case("GatherND").input(x).input(NdArray::from<std::int64_t>({2, 2}, {0, 1, 2, 0})).run1(),
                floats({2}, {1, 4}), 0);
  require_close(Case("GatherND")
                    .input(iota({2, 2, 2}))
                    .input(NdArray::from<std::int64_t>({2, 1}, {1, 0}))
                    .integer("batch_dims", 1)
                    .run1(),
                floats({2, 2}, {2, 3, 4, 5}), 0);
}

TEST_CASE("Gather, GatherElements, GatherND choose nothing from data without elements") {
  const NdArray data(DType::float32, {0, 2}), none(DType::int64, {0});
  CHECK(Case("Gather").input(data).input(none).run1().shape() == Shape{0, 2});
  CHECK(Case("Gather").input(data).input(none).integer("axis", 1).run1().shape() == Shape{0, 0});
  const std::string why = "data [0, 2] has no elements, but the result [1, 2] needs some";
  CHECK(Case("Gather").input(data).input(list({0})).refusal().find(why) != std::string::npos);
  CHECK(Case("GatherElements").input(data).input(NdArray(DType::int64, {1, 2})).refusal().find(why) !=
        std::string::npos);
  CHECK(Case("GatherND").input(data).input(NdArray(DType::int64, {1, 1})).refusal().find(why) != std::string::npos);
}

TEST_CASE("Expand and Tile repeat") {
  require_close(Case("Expand").input(floats({3, 1}, {1, 2, 3})).constant(list({2, 1, 2})).run1(),
                floats({2, 3, 2}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}), 0);
  require_close(Case("Expand").input(floats({2}, {1, 2})).constant(list({1})).run1(), floats({2}, {1, 2}), 0);
  require_close(Case("Tile").input(floats({1, 2}, {1, 2})).constant(list({2, 2})).run1(),
                floats({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}), 0);
  CHECK(Case("Expand").input(floats({2}, {1, 2})).constant(list({3})).refusal() ==
        "error: cannot accept Expand (node node): input 0 of shape [2] does not broadcast to [3]. Hint: its extents, "
        "aligned at the last axis, must be 1 or equal to the target's");
}

TEST_CASE("Pad: modes, negative pads, axes") {
  const NdArray x = floats({4}, {1, 2, 3, 4});
  const auto pad = [&](const char* mode, std::int64_t begin, std::int64_t end) {
    return Case("Pad").input(x).constant(list({begin, end})).text("mode", mode).run1();
  };
  require_close(pad("constant", 1, 2), floats({7}, {0, 1, 2, 3, 4, 0, 0}), 0);
  require_close(pad("constant", -1, 2), floats({5}, {2, 3, 4, 0, 0}), 0);
  require_close(pad("constant", 1, -3), floats({2}, {0, 1}), 0);
  require_close(pad("edge", 2, 1), floats({7}, {1, 1, 1, 2, 3, 4, 4}), 0);
  require_close(pad("reflect", 3, 2), floats({9}, {4, 3, 2, 1, 2, 3, 4, 3, 2}), 0);
  require_close(pad("wrap", 1, 2), floats({7}, {4, 1, 2, 3, 4, 1, 2}), 0);
  require_close(Case("Pad")
                    .input(iota({2, 2}))
                    .constant(list({1, 0}))
                    .constant(NdArray::scalar(9.0f))
                    .constant(list({-1}))
                    .run1(),
                floats({2, 3}, {9, 0, 1, 9, 2, 3}), 0);
  // Repeated as often as the pads require, over the part that negative pads leave.
  require_close(pad("wrap", 5, 6), floats({15}, {4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2}), 0);
  require_close(pad("reflect", 7, 4), floats({15}, {2, 1, 2, 3, 4, 3, 2, 1, 2, 3, 4, 3, 2, 1, 2}), 0);
  require_close(pad("wrap", -1, 4), floats({7}, {2, 3, 4, 2, 3, 4, 2}), 0);
  require_close(pad("wrap", 3, -2), floats({5}, {2, 1, 2, 1, 2}), 0);
  require_close(pad("reflect", -1, 1), floats({4}, {2, 3, 4, 3}), 0);
  require_close(pad("reflect", 3, -2), floats({5}, {2, 1, 2, 1, 2}), 0);
  require_close(pad("reflect", -3, 2), floats({3}, {4, 4, 4}), 0);
  require_close(pad("edge", 2, -3), floats({3}, {1, 1, 1}), 0);
  for (const char* mode : {"edge", "reflect", "wrap"})
    CHECK_THAT(Case("Pad").input(x).constant(list({5, -4})).text("mode", mode).refusal(),
               Catch::Matchers::ContainsSubstring("pad of 5 on axis 0, which has no elements to repeat"));
}

TEST_CASE("DepthToSpace and SpaceToDepth") {
  const NdArray x = iota({1, 8, 1, 1});
  require_close(Case("DepthToSpace").input(x).integer("blocksize", 2).run1(),
                floats({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}), 0);
  require_close(Case("DepthToSpace").input(x).integer("blocksize", 2).text("mode", "CRD").run1(),
                floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), 0);
  const NdArray y = iota({1, 2, 4, 6});
  const NdArray depth = Case("SpaceToDepth").input(y).integer("blocksize", 2).run1();
  require_close(Case("DepthToSpace").input(depth).integer("blocksize", 2).run1(), y, 0);
}

TEST_CASE("Shape, Size, Constant, ConstantOfShape, Range, EyeLike") {
  require_close(Case("Shape").input(iota({2, 3, 4})).run1(), list({2, 3, 4}));
  require_close(Case("Shape").input(iota({2, 3, 4})).integer("start", -2).integer("end", 9).run1(), list({3, 4}));
  CHECK(Case("Shape").input(NdArray::scalar(1.0f)).run1().shape() == Shape{0});
  require_close(Case("Size").input(iota({2, 3})).run1(), NdArray::scalar(std::int64_t{6}));
  require_close(Case("Constant").with("value", iota({2, 3})).run1(), iota({2, 3}));
  require_close(Case("ConstantOfShape").constant(list({2})).with("value", NdArray::from<std::int8_t>({1}, {-3})).run1(),
                NdArray::from<std::int8_t>({2}, {-3, -3}));
  const auto i32 = [](std::int32_t v) { return NdArray::scalar(v); };
  require_close(Case("Range").constant(i32(10)).constant(i32(4)).constant(i32(-4)).run1(),
                NdArray::from<std::int32_t>({2}, {10, 6}));
  require_close(Case("Range")
                    .constant(NdArray::scalar(1.0f))
                    .constant(NdArray::scalar(5.0f))
                    .constant(NdArray::scalar(2.0f))
                    .run1(),
                floats({2}, {1, 3}));
  CHECK(Case("Range").constant(i32(1)).constant(i32(0)).constant(i32(1)).run1().count() == 0);
  require_close(Case("EyeLike").input(iota({2, 3})).integer("k", 1).integer("dtype", 7).run1(),
                NdArray::from<std::int64_t>({2, 3}, {0, 1, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace dovetail::ops
