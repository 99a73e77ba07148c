// MaxPool, AveragePool, LpPool and the global pools, compared with direct loops.
#include <cmath>
#include <limits>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

struct Pooling {
  Shape x;
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  bool ceil;
};

std::vector<Pooling> poolings() {
  return {
      {{1, 2, 6, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, false},
      {{2, 1, 7, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, false},
      {{1, 1, 7, 8}, {3, 2}, {2, 3}, {1, 1}, {0, 0, 0, 0}, true},
      {{1, 1, 9, 9}, {3, 3}, {2, 1}, {2, 3}, {2, 1, 0, 2}, true},
      {{1, 3, 10}, {4}, {3}, {1}, {1, 2}, true},
      {{1, 1, 4, 5, 3}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 0, 0, 0, 1, 1}, false},
      {{1, 1, 2, 2}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},  // the last window would begin beyond the input:
                                                                   // dropped
  };
}

Shape pooled_shape(const Pooling& p) {
  Shape y{p.x[0], p.x[1]};
  const std::size_t rank = p.kernel.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t slack = p.x[i + 2] + p.pads[i] + p.pads[i + rank] - (p.kernel[i] - 1) * p.dilations[i] - 1;
    std::int64_t extent = (slack + (p.ceil ? p.strides[i] - 1 : 0)) / p.strides[i] + 1;
    if (p.ceil && (extent - 1) * p.strides[i] >= p.x[i + 2] + p.pads[i]) --extent;
    y.push_back(extent);
  }
  return y;
}

// Calls visit(output, flat index of x or -1) for taps inside input and pads, but not for taps that ceil mode adds
// beyond the pads.
template <typename F>
void visit_windows(const Pooling& p, const Shape& y, F visit) {
  const std::size_t rank = p.kernel.size();
  for_each_index(y, [&](const Shape& out) {
    for_each_index(p.kernel, [&](const Shape& tap) {
      Shape in{out[0], out[1]};
      bool inside = true, in_pads = true;
      for (std::size_t i = 0; i < rank; ++i) {
        in.push_back(out[i + 2] * p.strides[i] + tap[i] * p.dilations[i] - p.pads[i]);
        inside = inside && in.back() >= 0 && in.back() < p.x[i + 2];
        in_pads = in_pads && in.back() < p.x[i + 2] + p.pads[i + rank];
      }
      if (in_pads) visit(flat(y, out), inside ? flat(p.x, in) : -1);
    });
  });
}

Case& set_pooling(Case& test, const Pooling& p) {
  return test.ints("kernel_shape", p.kernel)
      .ints("strides", p.strides)
      .ints("dilations", p.dilations)
      .ints("pads", p.pads)
      .integer("ceil_mode", p.ceil);
}

TEST_CASE("MaxPool agrees with direct loops in every type") {
  std::mt19937 rng(8);
  for (const DType dtype : {DType::float32, DType::int8, DType::uint8})
    for (const Pooling& p : poolings()) {
      const NdArray x =
          dtype == DType::uint8 ? random_whole(rng, dtype, p.x, 0, 255) : random_whole(rng, dtype, p.x, -128, -1);
      NdArray expected(dtype, pooled_shape(p));
      for (std::int64_t i = 0; i < expected.count(); ++i) expected.set_int64(i, dtype == DType::uint8 ? 0 : -128);
      visit_windows(p, expected.shape(), [&](std::int64_t y, std::int64_t in) {
        if (in >= 0) expected.set_int64(y, std::max(expected.as_int64(y), x.as_int64(in)));
      });
      Case test("MaxPool");
      test.input(x);
      require_close(set_pooling(test, p).run1(), expected, 0);
    }
}

TEST_CASE("MaxPool returns the index of the first maximum of each window, in either order of the axes") {
  std::mt19937 rng(10);
  for (const bool first_fastest : {false, true})
    for (const Pooling& p : poolings()) {
      const NdArray x = random_whole(rng, DType::float32, p.x);
      NdArray places(DType::int64, pooled_shape(p));
      for (std::int64_t i = 0; i < places.count(); ++i) places.set_int64(i, -1);
      visit_windows(p, places.shape(), [&](std::int64_t y, std::int64_t in) {
        const std::int64_t best = places.as_int64(y);
        if (in >= 0 && (best < 0 || x.as_double(in) > x.as_double(best))) places.set_int64(y, in);
      });
      const std::int64_t image = element_count(p.x) / (p.x[0] * p.x[1]);
      for (std::int64_t i = 0; first_fastest && i < places.count(); ++i) {
        std::int64_t rest = places.as_int64(i) % image, number = 0, weight = image;
        for (std::size_t d = p.x.size(); d-- > 2; rest /= p.x[d]) number += rest % p.x[d] * (weight /= p.x[d]);
        places.set_int64(i, places.as_int64(i) / image * image + number);
      }
      Case test("MaxPool", 2);
      test.input(x).integer("storage_order", first_fastest ? 1 : 0);
      require_close(set_pooling(test, p).run()[1], places, 0);
    }
}

TEST_CASE("LpPool and GlobalLpPool take the p-th root of the sum of p-th powers") {
  std::mt19937 rng(11);
  for (const std::int64_t exponent : {1, 2, 3})
    for (const Pooling& p : poolings()) {
      const NdArray x = random_whole(rng, DType::float32, p.x);
      NdArray expected(DType::float32, pooled_shape(p));
      std::vector<double> sums(static_cast<std::size_t>(expected.count()));
      visit_windows(p, expected.shape(), [&](std::int64_t y, std::int64_t in) {
        if (in >= 0) sums[static_cast<std::size_t>(y)] += std::pow(std::abs(x.as_double(in)), exponent);
      });
      for (std::int64_t i = 0; i < expected.count(); ++i)
        expected.set_double(i, std::pow(sums[static_cast<std::size_t>(i)], 1.0 / static_cast<double>(exponent)));
      Case test("LpPool");
      test.input(x).integer("p", exponent);
      require_close(set_pooling(test, p).run1(), expected);
    }
  const NdArray x = NdArray::from<float>({1, 1, 2, 2}, {3, -4, 0, 12});
  require_close(Case("GlobalLpPool").input(x).run1(), NdArray::from<float>({1, 1, 1, 1}, {13}));
}

TEST_CASE("A pool without pads (VALID) has no partial windows, for any ceil_mode") {
  const NdArray x = NdArray::from<float>({1, 1, 5}, {1, 2, 3, 4, 9});
  const auto pool = [&] {
    return Case("MaxPool").input(x).ints("kernel_shape", {2}).ints("strides", {2}).integer("ceil_mode", 1);
  };
  require_close(pool().run1(), NdArray::from<float>({1, 1, 3}, {2, 4, 9}), 0);
  require_close(pool().text("auto_pad", "VALID").run1(), NdArray::from<float>({1, 1, 2}, {2, 4}), 0);
}

TEST_CASE("AveragePool divides by the elements that count") {
  std::mt19937 rng(9);
  for (const bool include_pads : {false, true})
    for (const Pooling& p : poolings()) {
      INFO(to_string(p.x) << " include " << include_pads);
      const NdArray x = random_whole(rng, DType::float32, p.x);
      NdArray expected(DType::float32, pooled_shape(p));
      std::vector<double> sums(static_cast<std::size_t>(expected.count())), counts(sums.size());
      visit_windows(p, expected.shape(), [&](std::int64_t y, std::int64_t in) {
        if (in >= 0) sums[static_cast<std::size_t>(y)] += x.as_double(in);
        if (in >= 0 || include_pads) counts[static_cast<std::size_t>(y)] += 1;
      });
      for (std::int64_t i = 0; i < expected.count(); ++i)
        expected.set_double(i, sums[static_cast<std::size_t>(i)] / counts[static_cast<std::size_t>(i)]);
      Case test("AveragePool");
      test.input(x).integer("count_include_pad", include_pads);
      require_close(set_pooling(test, p).run1(), expected);
    }
}

TEST_CASE("Global pools, and refused attributes") {
  const NdArray x = NdArray::from<float>({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -6});
  require_close(Case("GlobalAveragePool").input(x).run1(), NdArray::from<float>({1, 2, 1, 1}, {3, -3}));
  require_close(Case("GlobalMaxPool").input(x).run1(), NdArray::from<float>({1, 2, 1, 1}, {6, -1}));
  CHECK(
      Case("MaxPool").input(x).ints("kernel_shape", {2, 2}).ints("pads", {2, 0, 0, 0}).refusal() ==
      "error: cannot accept MaxPool (node node): window 0 on spatial axis 0 covers only padding (kernel 2, pads 2 and "
      "0, input 2). Hint: use pads smaller than the kernel");
  CHECK(Case("MaxPool").input(x).refusal() ==
        "error: cannot accept MaxPool (node node): attribute kernel_shape is required. Hint: fix the exporter");
  CHECK(Case("MaxPool", 3).input(x).ints("kernel_shape", {2, 2}).refusal() ==
        "error: cannot accept MaxPool (node node): the node has 3 outputs, but 1 to 2 are supported. Hint: remove the "
        "unused outputs");
  CHECK(Case("AveragePool").input(NdArray(DType::int8, {1, 1, 2, 2})).ints("kernel_shape", {2, 2}).refusal() ==
        "error: cannot accept AveragePool (node node): input 0 (X) has type int8, but must be one of float16, "
        "bfloat16, float32, float64. Hint: insert a Cast before the node");
}

}  // namespace
}  // namespace dovetail::ops
