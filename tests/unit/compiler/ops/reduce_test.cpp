// Reductions, ArgMax and ArgMin, softmax, normalizations, Resize.
#include <cmath>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

TEST_CASE("Reduce*: axes, keepdims, empty axes") {
  const NdArray x = floats({2, 3}, {1, 2, 3, -4, 5, 6});
  const auto reduce = [&](const char* op, std::vector<std::int64_t> axes, bool keep) {
    return Case(op).input(x).constant(list(axes)).integer("keepdims", keep).run1();
  };
  require_close(reduce("ReduceSum", {1}, true), floats({2, 1}, {6, 7}));
  require_close(reduce("ReduceSum", {-2}, false), floats({3}, {-3, 7, 9}));
  require_close(reduce("ReduceMean", {0, 1}, false), floats({}, {13.0f / 6}));
  require_close(reduce("ReduceMax", {1}, false), floats({2}, {3, 6}));
  require_close(reduce("ReduceMin", {0}, true), floats({1, 3}, {-4, 2, 3}));
  require_close(reduce("ReduceProd", {1}, false), floats({2}, {6, -120}));
  require_close(reduce("ReduceL1", {1}, false), floats({2}, {6, 15}));
  require_close(reduce("ReduceL2", {1}, false), floats({2}, {std::sqrt(14.0f), std::sqrt(77.0f)}));
  require_close(reduce("ReduceSumSquare", {1}, false), floats({2}, {14, 77}));
  require_close(reduce("ReduceLogSum", {1}, false), floats({2}, {std::log(6.0f), std::log(7.0f)}));
  require_close(reduce("ReduceLogSumExp", {1}, false), floats({2}, {3.4076059f, 6.3132944f}));
  require_close(Case("ReduceLogSumExp").input(floats({2}, {1000, 1000})).run1(), floats({1}, {1000.6931f}));
  require_close(Case("ReduceSum").input(x).run1(), floats({1, 1}, {13}));
  require_close(Case("ReduceSum").input(x).integer("noop_with_empty_axes", 1).run1(), x);
  require_close(Case("ReduceSum").input(NdArray(DType::float32, {2, 0})).constant(list({1})).run1(),
                floats({2, 1}, {0, 0}));
  require_close(Case("ReduceMax").input(NdArray(DType::float32, {1, 0})).constant(list({1})).run1(),
                floats({1, 1}, {-INFINITY}));
  require_close(Case("ReduceMax").input(NdArray::from<bool>({2}, {false, true})).run1(),
                NdArray::from<bool>({1}, {true}));
  require_close(Case("ReduceSum").input(NdArray::from<std::int8_t>({2}, {100, 100})).run1(),
                NdArray::from<std::int8_t>({1}, {-56}));
  CHECK_THAT(Case("ReduceSum").input(x).constant(list({2})).refusal(),
             Catch::Matchers::ContainsSubstring(
                 "axis 2 does not exist in a tensor of rank 2. Hint: use an axis from -2 to 1"));
}

TEST_CASE("ArgMax and ArgMin return the first NaN, as NumPy does, also in a row of only NaN") {
  const NdArray x = floats({3, 3}, {1, NAN, NAN, NAN, NAN, NAN, -INFINITY, 2, INFINITY});
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    INFO(op);
    const std::int64_t last = op == "ArgMax" ? 2 : 0;
    require_close(Case(op).input(x).integer("axis", -1).integer("keepdims", 0).run1(), list({1, 0, last}));
    require_close(Case(op).input(x).integer("axis", -1).integer("keepdims", 0).integer("select_last_index", 1).run1(),
                  list({2, 2, last}));
  }
}

TEST_CASE("ArgMax and ArgMin: ties, negative axes, keepdims") {
  const NdArray x = floats({2, 4}, {2, 5, 5, 1, -3, -3, -1, -1});
  require_close(Case("ArgMax").input(x).integer("axis", -1).run1(), NdArray::from<std::int64_t>({2, 1}, {1, 2}));
  require_close(
      Case("ArgMax").input(x).integer("axis", 1).integer("select_last_index", 1).integer("keepdims", 0).run1(),
      list({2, 3}));
  require_close(Case("ArgMin").input(x).integer("axis", 1).integer("keepdims", 0).run1(), list({3, 0}));
  require_close(Case("ArgMin").input(x).integer("keepdims", 0).run1(), list({1, 1, 1, 1}));
  require_close(Case("ArgMax").input(floats({3}, {-INFINITY, -INFINITY, -INFINITY})).run1(), list({0}));
}

TEST_CASE("Softmax and LogSoftmax along any axis, without overflow") {
  const NdArray x = floats({2, 2}, {0, 1, 10000, 10001});
  const float p = 1 / (1 + std::exp(-1.0f));
  require_close(Case("Softmax").input(x).run1(), floats({2, 2}, {1 - p, p, 1 - p, p}));
  require_close(Case("Softmax").input(x).integer("axis", 0).run1(), floats({2, 2}, {0, 0, 1, 1}));
  require_close(Case("LogSoftmax").input(x).run1(),
                floats({2, 2}, {std::log(1 - p), std::log(p), std::log(1 - p), std::log(p)}));
}

TEST_CASE("Normalizations have the stated mean and variance") {
  std::mt19937 rng(10);
  const NdArray x = random_whole(rng, DType::float32, {2, 4, 3, 5});
  const NdArray scale = floats({4}, {1, 2, 0.5f, -1}), bias = floats({4}, {0, 1, 2, 3}),
                mean = floats({4}, {0.5f, -1, 0, 1}), variance = floats({4}, {1, 4, 0.25f, 9});
  NdArray expected(DType::float32, x.shape());
  for_each_index(x.shape(), [&](const Shape& p) {
    const std::int64_t i = flat(x.shape(), p);
    expected.set_double(i, (x.as_double(i) - mean.as_double(p[1])) / std::sqrt(variance.as_double(p[1]) + 1e-3) *
                                   scale.as_double(p[1]) +
                               bias.as_double(p[1]));
  });
  require_close(Case("BatchNormalization")
                    .input(x)
                    .constant(scale)
                    .constant(bias)
                    .constant(mean)
                    .constant(variance)
                    .real("epsilon", 1e-3)
                    .run1(),
                expected);

  // Statistics of fewer bits than the data do not reduce its precision.
  const auto half = [](const NdArray& array) {
    NdArray halves(DType::float16, array.shape());
    for (std::int64_t i = 0; i < array.count(); ++i) halves.set_double(i, array.as_double(i));
    return halves;
  };
  require_close(Case("BatchNormalization")
                    .input(x)
                    .constant(scale)
                    .constant(bias)
                    .constant(half(mean))
                    .constant(half(variance))
                    .real("epsilon", 1e-3)
                    .run1(),
                expected);

  // Rows of `size` consecutive elements.
  const auto normalize = [&](std::int64_t size, const NdArray& s, const NdArray& b, auto parameter) {
    NdArray y(DType::float32, x.shape());
    for (std::int64_t row = 0; row < x.count() / size; ++row) {
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < size; ++i) sum += x.as_double(row * size + i);
      for (std::int64_t i = 0; i < size; ++i)
        squares += std::pow(x.as_double(row * size + i) - sum / static_cast<double>(size), 2);
      for (std::int64_t i = row * size; i < (row + 1) * size; ++i)
        y.set_double(i, (x.as_double(i) - sum / static_cast<double>(size)) /
                                std::sqrt(squares / static_cast<double>(size) + 1e-5) * s.as_double(parameter(i)) +
                            b.as_double(parameter(i)));
    }
    return y;
  };
  const auto channel = [](std::int64_t i) { return i / 15 % 4; };
  require_close(Case("InstanceNormalization").input(x).constant(scale).constant(bias).run1(),
                normalize(15, scale, bias, channel));
  require_close(Case("GroupNormalization").input(x).constant(scale).constant(bias).integer("num_groups", 2).run1(),
                normalize(30, scale, bias, channel));
  const NdArray s = random_whole(rng, DType::float32, {3, 5}), b = random_whole(rng, DType::float32, {3, 5});
  const std::vector<NdArray> layer =
      Case("LayerNormalization", 3).input(x).constant(s).constant(b).integer("axis", -2).run();
  require_close(layer[0], normalize(15, s, b, [](std::int64_t i) { return i % 15; }));
  CHECK(layer[1].shape() == Shape{2, 4, 1, 1});
  CHECK_THAT(Case("BatchNormalization")
                 .input(x)
                 .constant(floats({3}, {1, 1, 1}))
                 .constant(bias)
                 .constant(mean)
                 .constant(variance)
                 .refusal(),
             Catch::Matchers::ContainsSubstring("scale has shape [3], expected [4]"));
}

// Rows of `size` consecutive elements, each replaced by f(row).
template <typename F>
NdArray by_rows(const NdArray& x, std::int64_t size, F f) {
  NdArray y(x.dtype(), x.shape());
  for (std::int64_t row = 0; row < x.count() / size; ++row) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(x.as_double(row * size + i));
    for (std::int64_t i = 0; i < size; ++i) y.set_double(row * size + i, f(values, i));
  }
  return y;
}

TEST_CASE("RMSNormalization divides by the root of the mean square of the last axes") {
  std::mt19937 rng(12);
  const NdArray x = random_whole(rng, DType::float32, {2, 3, 4, 5}), scale = random_whole(rng, DType::float32, {4, 5}),
                row_scale = random_whole(rng, DType::float32, {5});
  const auto rms = [](const std::vector<double>& row, std::int64_t i, double epsilon) {
    double squares = 0;
    for (const double value : row) squares += value * value;
    return row[static_cast<std::size_t>(i)] / std::sqrt(squares / static_cast<double>(row.size()) + epsilon);
  };
  require_close(Case("RMSNormalization").input(x).constant(scale).integer("axis", 2).real("epsilon", 0.5).run1(),
                by_rows(x, 20, [&](const std::vector<double>& row, std::int64_t i) {
                  return rms(row, i, 0.5) * scale.as_double(i);
                }));
  require_close(Case("RMSNormalization").input(x).constant(row_scale).run1(),
                by_rows(x, 5, [&](const std::vector<double>& row, std::int64_t i) {
                  return rms(row, i, 1e-5) * row_scale.as_double(i);
                }));
  CHECK_THAT(Case("RMSNormalization").input(x).constant(row_scale).integer("stash_type", 11).refusal(),
             Catch::Matchers::ContainsSubstring("stash_type is 11, but only 1 (float32) is supported"));
}

TEST_CASE("LpNormalization and MeanVarianceNormalization") {
  std::mt19937 rng(13);
  const NdArray x = random_whole(rng, DType::float32, {2, 3, 4});
  for (const std::int64_t p : {1, 2})
    require_close(Case("LpNormalization").input(x).integer("p", p).run1(),
                  by_rows(x, 4, [&](const std::vector<double>& row, std::int64_t i) {
                    double norm = 0;
                    for (const double value : row) norm += p == 1 ? std::abs(value) : value * value;
                    if (p == 2) norm = std::sqrt(norm);
                    return norm == 0 ? 0 : row[static_cast<std::size_t>(i)] / norm;
                  }));
  require_close(Case("LpNormalization").input(floats({2, 2}, {3, 0, 4, 0})).integer("axis", 0).run1(),
                floats({2, 2}, {0.6F, 0, 0.8F, 0}));
  CHECK_THAT(Case("LpNormalization").input(x).integer("p", 3).refusal(),
             Catch::Matchers::ContainsSubstring("p is 3, but must be 1 or 2"));

  require_close(Case("MeanVarianceNormalization").input(x).ints("axes", {-1, 1}).run1(),
                by_rows(x, 12, [&](const std::vector<double>& row, std::int64_t i) {
                  double sum = 0, squares = 0;
                  for (const double value : row) sum += value;
                  for (const double value : row) squares += std::pow(value - sum / 12, 2);
                  return (row[static_cast<std::size_t>(i)] - sum / 12) / (std::sqrt(squares / 12) + 1e-9);
                }));
}

TEST_CASE("LRN sums squares over neighboring channels") {
  std::mt19937 rng(11);
  const NdArray x = random_whole(rng, DType::float32, {2, 7, 2, 2});
  for (const std::int64_t size : {1, 2, 3, 5, 12, 13, 14, 15, 2147483647}) {
    NdArray expected(DType::float32, x.shape());
    for_each_index(x.shape(), [&](const Shape& p) {
      double sum = 0;
      for (std::int64_t c = std::max<std::int64_t>(0, p[1] - (size - 1) / 2);
           c <= std::min<std::int64_t>(6, p[1] + size / 2); ++c)
        sum += std::pow(x.as_double(flat(x.shape(), {p[0], c, p[2], p[3]})), 2);
      const std::int64_t i = flat(x.shape(), p);
      expected.set_double(i, x.as_double(i) / std::pow(2 + 0.3 / static_cast<double>(size) * sum, 0.6));
    });
    require_close(
        Case("LRN").input(x).integer("size", size).real("alpha", 0.3).real("beta", 0.6).real("bias", 2).run1(),
        expected);
  }
}

TEST_CASE("Resize: nearest by integer and fractional factors, linear, cubic") {
  const NdArray x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto resize = [](const NdArray& input, std::vector<float> scales) {
    Case test("Resize");
    test.input(input).omitted().constant(NdArray::from<float>({static_cast<std::int64_t>(scales.size())}, scales));
    return test;
  };
  require_close(resize(x, {1, 1, 2, 2}).run1(), floats({1, 1, 4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  // From the standard's examples: resize_downsample_scales_nearest, _linear, upsample align_corners.
  const NdArray wide = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  require_close(resize(wide, {1, 1, 0.6f, 0.6f}).run1(), floats({1, 1, 1, 2}, {1, 3}));
  require_close(resize(wide, {1, 1, 0.6f, 0.6f}).text("mode", "linear").run1(),
                floats({1, 1, 1, 2}, {2.6666665f, 4.3333331f}));
  require_close(
      resize(x, {1, 1, 2, 2}).text("mode", "linear").text("coordinate_transformation_mode", "align_corners").run1(),
      floats({1, 1, 4, 4}, {1, 1.3333334f, 1.6666667f, 2, 1.6666667f, 2, 2.3333333f, 2.6666667f, 2.3333333f, 2.6666667f,
                            3, 3.3333333f, 3, 3.3333333f, 3.6666667f, 4}));
  const NdArray square = floats({1, 1, 1, 4}, {1, 2, 3, 4});
  require_close(resize(square, {1, 1, 1, 2}).text("mode", "cubic").run1(),
                floats({1, 1, 1, 8}, {0.89453125f, 1.19140625f, 1.66796875f, 2.296875f, 2.703125f, 3.33203125f,
                                      3.80859375f, 4.10546875f}));
  CHECK(resize(x, {1, 1, 2}).refusal() ==
        "error: cannot accept Resize (node node): scales has 3 entries for 4 axes. Hint: give one per axis");
}

TEST_CASE("ReduceMean of integers refuses a count that exceeds their type") {
  CHECK(Case("ReduceMean").input(NdArray(DType::int8, {127})).run1().as_int64(0) == 0);
  CHECK(Case("ReduceMean").input(NdArray(DType::int8, {2, 64})).refusal().find("128 elements > 127") !=
        std::string::npos);
}

}  // namespace
}  // namespace dovetail::ops
