// Gemm, MatMul and dovetail.qgemm, compared with direct loops.
#include <cmath>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

TEST_CASE("Gemm: transposes, factors and the broadcast of C") {
  std::mt19937 rng(3);
  const std::int64_t m = 3, n = 5, k = 4;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const Shape& c_shape : {Shape{}, Shape{n}, Shape{m, 1}, Shape{m, n}}) {
        const NdArray a = random_whole(rng, DType::float32, ta ? Shape{k, m} : Shape{m, k}),
                      b = random_whole(rng, DType::float32, tb ? Shape{n, k} : Shape{k, n});
        const NdArray c = random_whole(rng, DType::float32, c_shape);
        NdArray expected(DType::float32, {m, n});
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < k; ++l)
              sum += a.as_double(ta ? l * m + i : i * k + l) * b.as_double(tb ? j * k + l : l * n + j);
            const std::int64_t ci = c_shape.empty() ? 0 : c_shape.size() == 1 ? j : c_shape[1] == 1 ? i : i * n + j;
            expected.set_double(i * n + j, 2 * sum + 0.5 * c.as_double(ci));
          }
        Case test("Gemm");
        test.input(a).input(b).input(c).integer("transA", ta).integer("transB", tb).real("alpha", 2).real("beta", 0.5);
        require_close(test.run1(), expected);
      }
}

TEST_CASE("MatMul broadcasts leading axes and takes vectors") {
  const struct {
    Shape a, b, y;
  } cases[] = {{{3}, {3}, {}},
               {{3}, {2, 3, 4}, {2, 4}},
               {{2, 5, 3}, {3}, {2, 5}},
               {{5, 3}, {3, 4}, {5, 4}},
               {{2, 1, 5, 3}, {7, 3, 4}, {2, 7, 5, 4}},
               {{1, 2, 3}, {6, 1, 3, 2}, {6, 1, 2, 2}}};
  std::mt19937 rng(4);
  for (const auto& [as, bs, ys] : cases) {
    INFO(to_string(as) << " x " << to_string(bs));
    const NdArray a = random_whole(rng, DType::float32, as), b = random_whole(rng, DType::float32, bs);
    // Both operands as matrices in a common batch.
    Shape af = as.size() == 1 ? Shape{1, as[0]} : as, bf = bs.size() == 1 ? Shape{bs[0], 1} : bs;
    const std::size_t rank = std::max(af.size(), bf.size());
    af.insert(af.begin(), rank - af.size(), 1);
    bf.insert(bf.begin(), rank - bf.size(), 1);
    Shape yf(rank);
    for (std::size_t i = 0; i + 2 < rank; ++i) yf[i] = std::max(af[i], bf[i]);
    yf[rank - 2] = af[rank - 2];
    yf[rank - 1] = bf[rank - 1];
    NdArray expected(DType::float32, yf);
    for_each_index(yf, [&](const Shape& p) {
      double sum = 0;
      for (std::int64_t l = 0; l < af.back(); ++l) {
        Shape pa = p, pb = p;
        for (std::size_t i = 0; i + 2 < rank; ++i) {
          pa[i] = af[i] == 1 ? 0 : p[i];
          pb[i] = bf[i] == 1 ? 0 : p[i];
        }
        pa[rank - 1] = pb[rank - 2] = l;
        sum += a.as_double(flat(af, pa)) * b.as_double(flat(bf, pb));
      }
      expected.set_double(flat(yf, p), sum);
    });
    require_close(Case("MatMul").input(a).input(b).run1(), expected.reshaped(ys), 0);
  }
}

TEST_CASE("MatMul: integers, 16-bit floats, refusals") {
  require_close(Case("MatMul")
                    .input(NdArray::from<std::int32_t>({1, 2}, {2, 3}))
                    .input(NdArray::from<std::int32_t>({2, 1}, {5, 7}))
                    .run1(),
                NdArray::from<std::int32_t>({1, 1}, {31}));
  NdArray half(DType::float16, {1, 2048}), ones(DType::float16, {2048, 1});
  for (std::int64_t i = 0; i < 2048; ++i) {
    half.set_double(i, 1);
    ones.set_double(i, 1.5);
  }
  NdArray expected(DType::float16, {1, 1});
  expected.set_double(0, 3072);  // a float16 sum would stop at 2048 + small steps
  require_close(Case("MatMul").input(half).input(ones).run1(), expected, 0);
  CHECK(Case("MatMul").input(NdArray(DType::float32, {2, 3})).input(NdArray(DType::float32, {4, 5})).refusal() ==
        "error: cannot accept MatMul (node node): A [2, 3] has K = 3, B [4, 5] has K = 4. Hint: the last axis of A and "
        "the last but one of B must be equal; insert a "
        "Transpose");
  CHECK(Case("MatMul").input(NdArray(DType::float32, {2, 3})).input(NdArray(DType::float64, {3, 5})).refusal() ==
        "error: cannot accept MatMul (node node): input 1 (B) has type float64, but input 0 has float32; they must be "
        "equal. Hint: insert a Cast before the node");
}

TEST_CASE("dovetail.qgemm is exact and keeps leading axes") {
  std::mt19937 rng(5);
  const std::int64_t n = 6, k = 33;
  for (const Shape& xs : {Shape{4, k}, Shape{2, 3, k}, Shape{k}}) {
    const NdArray x = random_whole(rng, DType::int8, xs, -128, 127),
                  w = random_whole(rng, DType::int8, {n, k}, -127, 127);
    const NdArray bias = random_whole(rng, DType::int32, {n}, -9000, 9000),
                  zw = random_whole(rng, DType::int8, {n}, -9, 9);
    const NdArray scale = NdArray::from<float>({n}, {0.001f, 0.002f, 0.0005f, 0.0011f, 0.5f, 0.00025f});
    Shape ys = xs;
    ys.back() = n;
    NdArray expected(DType::int8, ys);
    for (std::int64_t y = 0; y < expected.count(); ++y) {
      std::int64_t acc = bias.as_int64(y % n);
      for (std::int64_t l = 0; l < k; ++l)
        acc += (x.as_int64(y / n * k + l) - 3) * (w.as_int64(y % n * k + l) - zw.as_int64(y % n));
      const double rounded = std::nearbyint(static_cast<double>(acc) * scale.as_double(y % n)) - 5;
      expected.set_double(y, std::min(127.0, std::max(-128.0, rounded)));
    }
    require_close(Case("dovetail.qgemm")
                      .input(x)
                      .constant(w)
                      .constant(bias)
                      .constant(scale)
                      .constant(zw)
                      .integer("x_zero_point", 3)
                      .integer("y_zero_point", -5)
                      .run1(),
                  expected, 0);
  }
  CHECK_THAT(Case("dovetail.qgemm")
                 .input(NdArray(DType::int8, {1, 2}))
                 .constant(NdArray(DType::int8, {3, 2}))
                 .constant(NdArray(DType::int32, {4}))
                 .constant(NdArray(DType::float32, {3}))
                 .refusal(),
             Catch::Matchers::ContainsSubstring("bias has shape [4], expected [3]"));
}

}  // namespace
}  // namespace dovetail::ops
