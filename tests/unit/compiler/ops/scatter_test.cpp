// Scatter, TopK, MaxUnpool and ReverseSequence compared with plain loops; value-dependent operators with hand-made
// results.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

NdArray numbers(const Shape& shape, const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>(shape, values);
}

double combined(const std::string& reduction, double before, double update) {
  if (reduction == "add") return before + update;
  if (reduction == "mul") return before * update;
  if (reduction == "min") return std::min(before, update);
  return reduction == "max" ? std::max(before, update) : update;
}

TEST_CASE("ScatterElements applies updates in their order, for every reduction") {
  std::mt19937 rng(3);
  for (const std::string reduction : {"none", "add", "mul", "min", "max"})
    for (const DType dtype : {DType::float32, DType::int32, DType::float16})
      for (const std::int64_t axis : {-1, 0, 1}) {
        const Shape shape{3, 4, 2}, places{2, 4, 2};
        const std::int64_t along = axis < 0 ? 2 : axis;
        const NdArray data = random_whole(rng, dtype, shape), updates = random_whole(rng, dtype, places);
        NdArray indices(DType::int64, places), expected = data;
        std::uniform_int_distribution<std::int64_t> draw(-shape[static_cast<std::size_t>(along)],
                                                         shape[static_cast<std::size_t>(along)] - 1);
        for (std::int64_t i = 0; i < indices.count(); ++i) indices.set_int64(i, draw(rng));
        for_each_index(places, [&](Shape p) {
          const std::int64_t from = flat(places, p), index = indices.as_int64(from);
          const auto at = static_cast<std::size_t>(along);
          p[at] = index < 0 ? index + shape[at] : index;
          const std::int64_t to = flat(shape, p);
          expected.set_double(to, combined(reduction, expected.as_double(to), updates.as_double(from)));
        });
        Case test("ScatterElements");
        test.input(data).input(indices).input(updates).integer("axis", axis).text("reduction", reduction);
        require_close(test.run1(), expected, 0);
      }
  CHECK_THAT(
      Case("ScatterElements").input(floats({2}, {0, 0})).input(numbers({1}, {0})).input(floats({2}, {1, 1})).refusal(),
      Catch::Matchers::ContainsSubstring("indices has shape [1], updates [2]"));
}

TEST_CASE("ScatterND writes slices; TensorScatter updates a cache, wrapping around if it is circular") {
  std::mt19937 rng(4);
  const NdArray data = random_whole(rng, DType::float32, {4, 3, 2}),
                updates = random_whole(rng, DType::float32, {3, 2});
  const NdArray indices = numbers({3, 2}, {1, 2, -1, 0, 1, 2});
  NdArray expected = data;
  for (const auto& [slice, row] : std::vector<std::pair<int, int>>{{5, 0}, {9, 1}, {5, 2}})
    for (int k = 0; k < 2; ++k) expected.set_double(slice * 2 + k, updates.as_double(row * 2 + k));
  require_close(Case("ScatterND").input(data).input(indices).input(updates).run1(), expected, 0);
  const NdArray cache = floats({1, 4, 1}, {0, 0, 0, 0}), update = floats({1, 2, 1}, {5, 6});
  require_close(
      Case("TensorScatter").input(cache).input(update).input(numbers({1}, {3})).text("mode", "circular").run1(),
      floats({1, 4, 1}, {6, 0, 0, 5}), 0);
  require_close(Case("TensorScatter").input(cache).input(update).run1(), floats({1, 4, 1}, {5, 6, 0, 0}), 0);
}

TEST_CASE("TopK sorts, and takes the first of equal elements") {
  std::mt19937 rng(8);
  for (const bool largest : {true, false})
    for (const std::int64_t axis : {0, 1})
      for (const std::int64_t k : {0, 1, 3, 5}) {
        const Shape shape{5, 6};
        NdArray x = random_whole(rng, DType::float32, shape, -3, 3);
        x.set_double(7, std::nan(""));
        const std::int64_t n = shape[static_cast<std::size_t>(axis)], rows = 30 / n;
        Shape result = shape;
        result[static_cast<std::size_t>(axis)] = k;
        NdArray values(DType::float32, result), places(DType::int64, result);
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto value = [&](std::int64_t i) { return x.as_double(axis == 0 ? i * 6 + row : row * 6 + i); };
          std::vector<std::int64_t> order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), 0);
          std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
            if (std::isnan(value(a)) || std::isnan(value(b))) return std::isnan(value(b)) && !std::isnan(value(a));
            return largest ? value(a) > value(b) : value(a) < value(b);
          });
          for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t to = axis == 0 ? i * 6 + row : row * k + i;
            values.set_double(to, value(order[static_cast<std::size_t>(i)]));
            places.set_int64(to, order[static_cast<std::size_t>(i)]);
          }
        }
        const auto results = Case("TopK", 2)
                                 .input(x)
                                 .constant(list({k}))
                                 .integer("axis", axis)
                                 .integer("largest", largest ? 1 : 0)
                                 .run();
        require_close(results[0], values, 0);
        require_close(results[1], places, 0);
      }
  CHECK_THAT(Case("TopK", 2).input(floats({2}, {1, 2})).constant(list({3})).refusal(),
             Catch::Matchers::ContainsSubstring("k is 3, but axis 0 has extent 2"));
}

TEST_CASE("MaxUnpool puts elements where MaxPool found them; ReverseSequence reverses the valid part") {
  std::mt19937 rng(9);
  const NdArray x = random_whole(rng, DType::float32, {2, 2, 4, 6}, -20, 20);
  const auto pooled = Case("MaxPool", 2).input(x).ints("kernel_shape", {2, 2}).ints("strides", {2, 2}).run();
  const NdArray back =
      Case("MaxUnpool").input(pooled[0]).input(pooled[1]).ints("kernel_shape", {2, 2}).ints("strides", {2, 2}).run1();
  NdArray expected(DType::float32, x.shape());
  for (std::int64_t i = 0; i < pooled[0].count(); ++i)
    expected.set_double(pooled[1].as_int64(i), pooled[0].as_double(i));
  require_close(back, expected, 0);
  for (std::int64_t i = 0; i < pooled[0].count(); ++i)
    REQUIRE(x.as_double(pooled[1].as_int64(i)) == pooled[0].as_double(i));
  require_close(Case("ReverseSequence")
                    .input(floats({2, 3}, {0, 1, 2, 3, 4, 5}))
                    .input(numbers({2}, {2, 3}))
                    .integer("batch_axis", 0)
                    .integer("time_axis", 1)
                    .run1(),
                floats({2, 3}, {1, 0, 2, 5, 4, 3}), 0);
}

std::vector<NdArray> evaluated(Case& test) {
  const graph::Graph& graph = test.graph();
  const graph::NodeId id = graph.live_nodes().at(0);
  return *find(graph.node(id).op)->evaluate({graph, graph.node(id)});
}

TEST_CASE("Operators with value-dependent extents are computed from constants, and refused otherwise") {
  Case non_zero("NonZero");
  non_zero.constant(floats({2, 3}, {0, 1, 0, 2, 0, 3}));
  require_close(evaluated(non_zero)[0], numbers({2, 3}, {0, 1, 1, 1, 0, 2}), 0);
  CHECK_THAT(Case("NonZero").input(floats({2}, {0, 1})).refusal(),
             Catch::Matchers::ContainsSubstring("input 0 (X) is computed at run time, but shapes are fixed"));
  NdArray condition(DType::boolean, {2});
  condition.set_int64(1, 1);
  Case compress("Compress");
  compress.constant(floats({3, 2}, {1, 2, 3, 4, 5, 6})).constant(condition).integer("axis", 0);
  require_close(evaluated(compress)[0], floats({1, 2}, {3, 4}), 0);
  for (const bool sorted : {true, false}) {
    Case unique("Unique", 4);
    unique.constant(floats({5}, {2, 1, 1, 3, 2})).integer("sorted", sorted ? 1 : 0);
    const auto results = evaluated(unique);
    require_close(results[0], floats({3}, sorted ? std::vector<float>{1, 2, 3} : std::vector<float>{2, 1, 3}), 0);
    require_close(results[1],
                  numbers({3}, sorted ? std::vector<std::int64_t>{1, 0, 3} : std::vector<std::int64_t>{0, 1, 3}), 0);
    require_close(
        results[2],
        numbers({5}, sorted ? std::vector<std::int64_t>{1, 0, 0, 2, 1} : std::vector<std::int64_t>{0, 1, 1, 2, 0}), 0);
    require_close(results[3], numbers({3}, {2, 2, 1}), 0);
  }
  Case rows("Unique", 4);
  rows.constant(floats({3, 2}, {1, 0, 0, 1, 1, 0})).integer("axis", 0);
  require_close(evaluated(rows)[0], floats({2, 2}, {0, 1, 1, 0}), 0);
}

// No two overlap, so that each is compared with all before it.
Case suppression_of_separate_boxes(std::int64_t boxes, std::int64_t most) {
  NdArray corners(DType::float32, {1, boxes, 4}), scores(DType::float32, {1, 1, boxes});
  for (std::int64_t i = 0; i < boxes; ++i)
    for (std::int64_t k = 0; k < 4; ++k) corners.set_double(i * 4 + k, static_cast<double>(k < 2 ? 2 * i : 2 * i + 1));
  return Case("NonMaxSuppression").constant(corners).constant(scores).constant(list({most}));
}

TEST_CASE("NonMaxSuppression limits the number of compared boxes to a few seconds of work") {
  Case few = suppression_of_separate_boxes(1000, 1000), chosen = suppression_of_separate_boxes(60'000, 1000);
  CHECK(evaluated(few)[0].shape() == Shape{1000, 3});
  CHECK(evaluated(chosen)[0].shape() == Shape{1000, 3});
  CHECK_THAT(suppression_of_separate_boxes(60'000, 60'000).refusal(),
             Catch::Matchers::ContainsSubstring("60000 boxes of 1 classes need more than 1000000000 comparisons"));
}

}  // namespace
}  // namespace dovetail::ops
