// Einsum, Det, CumSum and CumProd, Hardmax, OneHot, Trilu, RotaryEmbedding, BitCast: compared with plain loops in
// binary64.
#include <cmath>
#include <functional>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

using Catch::Matchers::ContainsSubstring;

// An array of the shape whose elements are f(position).
NdArray filled(DType dtype, const Shape& shape, const std::function<double(const Shape&)>& f) {
  NdArray array(dtype, shape);
  for_each_index(shape, [&](const Shape& p) { array.set_double(flat(shape, p), f(p)); });
  return array;
}
double at(const NdArray& array, const Shape& position) { return array.as_double(flat(array.shape(), position)); }

NdArray einsum(const std::string& equation, const std::vector<NdArray>& inputs) {
  Case made("Einsum");
  for (const NdArray& input : inputs) made.input(input);
  return made.text("equation", equation).run1();
}

TEST_CASE("Einsum: products, sums, diagonals, ellipses") {
  std::mt19937 rng(1);
  const NdArray a = random_whole(rng, DType::float32, {2, 3, 4}), b = random_whole(rng, DType::float32, {2, 4, 5}),
                square = random_whole(rng, DType::float32, {3, 3});
  const auto product = [&](const Shape& p) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += at(a, {p[0], p[1], k}) * at(b, {p[0], k, p[2]});
    return sum;
  };
  require_close(einsum("bij,bjk->bik", {a, b}), filled(DType::float32, {2, 3, 5}, product), 0);
  require_close(einsum("bij, bjk", {a, b}),
                filled(DType::float32, {3, 5},
                       [&](const Shape& p) {
                         return product({0, p[0], p[1]}) + product({1, p[0], p[1]});
                       }),
                0);
  require_close(einsum("...ij,...jk->...ik", {a, b}), filled(DType::float32, {2, 3, 5}, product), 0);
  require_close(einsum("...ij->...", {a}),
                filled(DType::float32, {2},
                       [&](const Shape& p) {
                         double sum = 0;
                         for (std::int64_t i = 0; i < 12; ++i) sum += a.as_double(p[0] * 12 + i);
                         return sum;
                       }),
                0);
  require_close(einsum("ijk->kji", {a}),
                filled(DType::float32, {4, 3, 2},
                       [&](const Shape& p) {
                         return at(a, {p[2], p[1], p[0]});
                       }),
                0);
  require_close(einsum("ii->i", {square}),
                filled(DType::float32, {3},
                       [&](const Shape& p) {
                         return at(square, {p[0], p[0]});
                       }),
                0);
  require_close(einsum("ii", {square}),
                filled(DType::float32, {},
                       [&](const Shape&) {
                         return at(square, {0, 0}) + at(square, {1, 1}) + at(square, {2, 2});
                       }),
                0);
  // Axes of extent 1 broadcast, with a letter or in an ellipsis; three factors.
  const NdArray one = random_whole(rng, DType::float32, {1, 3}), v = random_whole(rng, DType::float32, {3});
  require_close(einsum("...i,...i,i->...", {square, one, v}),
                filled(DType::float32, {3},
                       [&](const Shape& p) {
                         double sum = 0;
                         for (std::int64_t i = 0; i < 3; ++i)
                           sum += at(square, {p[0], i}) * at(one, {0, i}) * at(v, {i});
                         return sum;
                       }),
                0);
  require_close(einsum("i,j->ij", {random_whole(rng, DType::int8, {0}), random_whole(rng, DType::int8, {2})}),
                NdArray(DType::int8, {0, 2}), 0);
}

TEST_CASE("Einsum: invalid equations are refused") {
  const NdArray m(DType::float32, {2, 3});
  const auto refused = [&](const std::string& equation) {
    return Case("Einsum").input(m).input(m).text("equation", equation).refusal();
  };
  CHECK_THAT(refused("ij->i"),
             ContainsSubstring("equation \"ij->i\": the equation has 1 terms, but the node 2 inputs"));
  CHECK_THAT(refused("ijk,ij->i"), ContainsSubstring("term ijk names 3 axes, but input 0 has shape [2, 3]"));
  CHECK_THAT(refused("ij,ji->i"), ContainsSubstring("has two extents, 3 and 2"));
  CHECK_THAT(refused("ij,ij->ii"), ContainsSubstring("a letter occurs twice in the output term"));
  CHECK_THAT(refused("ij,ij->k"), ContainsSubstring("k is only in the output term"));
  CHECK_THAT(refused("i1,ij->i"), ContainsSubstring("term i1"));
  CHECK_THAT(refused("ij,ij->i->j"), ContainsSubstring("the output term must consist of letters"));
}

double determinant(std::vector<std::vector<double>> m) {
  double product = 1;
  for (std::size_t k = 0; k < m.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < m.size(); ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    if (m[pivot][k] == 0) return 0;
    if (pivot != k) product = -product, std::swap(m[pivot], m[k]);
    product *= m[k][k];
    for (std::size_t i = k + 1; i < m.size(); ++i)
      for (std::size_t j = m.size(); j-- > k;) m[i][j] -= m[i][k] / m[k][k] * m[k][j];
  }
  return product;
}

TEST_CASE("Det of matrices, singular ones and empty batches") {
  std::mt19937 rng(2);
  for (const std::int64_t n : {0, 1, 2, 3, 5}) {
    const NdArray x = random_whole(rng, DType::float64, {2, 3, n, n});
    require_close(Case("Det").input(x).run1(),
                  filled(DType::float64, {2, 3},
                         [&](const Shape& p) {
                           std::vector<std::vector<double>> m(static_cast<std::size_t>(n),
                                                              std::vector<double>(static_cast<std::size_t>(n)));
                           for (std::int64_t i = 0; i < n; ++i)
                             for (std::int64_t j = 0; j < n; ++j)
                               m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = at(x, {p[0], p[1], i, j});
                           return determinant(m);
                         }),
                  1e-9);
  }
  const NdArray swaps = NdArray::from<float>({3, 3}, {0, 0, 2, 0, 3, 0, 5, 0, 0});
  require_close(Case("Det").input(swaps).run1(), NdArray::scalar(-30.0f), 0);
  const NdArray singular = NdArray::from<float>({3, 3}, {0, 1, 2, 0, 3, 4, 0, 5, 6});
  require_close(Case("Det").input(singular).run1(), NdArray::scalar(0.0f), 0);
  CHECK_THAT(Case("Det").input(NdArray(DType::float32, {2, 3})).refusal(),
             ContainsSubstring("input of shape [2, 3] does not consist of square matrices"));
}

TEST_CASE("CumSum and CumProd: axes, exclusive, reverse, types") {
  std::mt19937 rng(3);
  for (const DType dtype : {DType::float32, DType::int32, DType::int64, DType::float16}) {
    const NdArray x = random_whole(rng, dtype, {2, 3, 4}, -3, 3);
    for (const std::int64_t axis : {0, 1, -1})
      for (const bool exclusive : {false, true})
        for (const bool reverse : {false, true})
          for (const bool product : {false, true}) {
            const auto d = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
            const NdArray expected = filled(dtype, x.shape(), [&](const Shape& p) {
              double value = product ? 1 : 0;
              for (std::int64_t k = 0; k < x.shape()[d]; ++k) {
                const bool before = reverse ? k > p[d] : k < p[d];
                if (!before && (exclusive || k != p[d])) continue;
                Shape q = p;
                q[d] = k;
                value = product ? value * at(x, q) : value + at(x, q);
              }
              return value;
            });
            require_close(Case(product ? "CumProd" : "CumSum")
                              .input(x)
                              .constant(NdArray::scalar(axis))
                              .integer("exclusive", exclusive)
                              .integer("reverse", reverse)
                              .run1(),
                          expected, 0);
          }
  }
  require_close(Case("CumSum").input(NdArray(DType::float32, {0})).constant(NdArray::scalar(std::int64_t{0})).run1(),
                NdArray(DType::float32, {0}));
}

TEST_CASE("Hardmax selects the first of the largest elements") {
  require_close(Case("Hardmax").input(NdArray::from<float>({2, 3}, {NAN, INFINITY, INFINITY, 1, NAN, NAN})).run1(),
                NdArray::from<float>({2, 3}, {1, 0, 0, 0, 1, 0}), 0);
  const NdArray x = NdArray::from<float>({2, 3}, {3, 5, 5, -1, -2, -1});
  require_close(Case("Hardmax").input(x).run1(), NdArray::from<float>({2, 3}, {0, 1, 0, 1, 0, 0}), 0);
  require_close(Case("Hardmax").input(x).integer("axis", 0).run1(), NdArray::from<float>({2, 3}, {1, 1, 1, 0, 0, 0}),
                0);
}

TEST_CASE("OneHot: negative and out-of-range indices, any axis, run-time values") {
  const NdArray indices = NdArray::from<std::int64_t>({3}, {0, -1, 4}), depth = NdArray::scalar(std::int64_t{4}),
                values = NdArray::from<float>({2}, {2, 5});
  require_close(Case("OneHot").input(indices).constant(depth).constant(values).run1(),
                NdArray::from<float>({3, 4}, {5, 2, 2, 2, 2, 2, 2, 5, 2, 2, 2, 2}), 0);
  require_close(Case("OneHot").input(indices).constant(depth).input(values).integer("axis", 0).run1(),
                NdArray::from<float>({4, 3}, {5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 2}), 0);
  require_close(Case("OneHot")
                    .input(NdArray::from<float>({1}, {1.0f}))
                    .constant(NdArray::scalar(2.0f))
                    .constant(NdArray::from<bool>({2}, {false, true}))
                    .run1(),
                NdArray::from<bool>({1, 2}, {false, true}), 0);
  CHECK_THAT(Case("OneHot").input(indices).constant(NdArray::scalar(std::int64_t{-1})).constant(values).refusal(),
             ContainsSubstring("depth is -1"));
  CHECK_THAT(Case("OneHot").input(indices).constant(depth).constant(NdArray(DType::float32, {3})).refusal(),
             ContainsSubstring("values has shape [3], expected [2]"));
}

TEST_CASE("Trilu: both triangles around any diagonal") {
  std::mt19937 rng(4);
  const NdArray x = random_whole(rng, DType::int64, {2, 3, 4}, 1, 9);
  for (const bool upper : {false, true})
    for (const std::int64_t k : {-4, -1, 0, 2, 9})
      for (const bool known : {false, true}) {
        Case made("Trilu");
        made.input(x).integer("upper", upper);
        if (known) made.constant(NdArray::scalar(k));
        else made.input(NdArray::scalar(k));
        require_close(made.run1(),
                      filled(DType::int64, x.shape(),
                             [&](const Shape& p) {
                               const bool kept = upper ? p[2] >= p[1] + k : p[2] <= p[1] + k;
                               return kept ? at(x, p) : 0;
                             }),
                      0);
      }
  CHECK_THAT(Case("Trilu").input(NdArray(DType::float32, {3})).refusal(),
             ContainsSubstring("rank 1, but at least 2 is required"));
}

TEST_CASE("RotaryEmbedding: halves and interleaved pairs, part of a head, joined heads, chosen positions") {
  std::mt19937 rng(5);
  const std::int64_t batch = 2, heads = 3, positions = 4, size = 8;
  for (const bool interleaved : {false, true})
    for (const std::int64_t turned : {std::int64_t{0}, std::int64_t{4}})
      for (const bool joined : {false, true})
        for (const bool chosen : {false, true}) {
          const std::int64_t half = (turned == 0 ? size : turned) / 2;
          const NdArray x = joined ? random_whole(rng, DType::float32, {batch, positions, heads * size})
                                   : random_whole(rng, DType::float32, {batch, heads, positions, size});
          const Shape rows = chosen ? Shape{10, half} : Shape{batch, positions, half};
          const NdArray cosines = random_whole(rng, DType::float32, rows),
                        sines = random_whole(rng, DType::float32, rows),
                        ids = random_whole(rng, DType::int64, {batch, positions}, 0, 9);
          const auto element = [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
            return joined ? at(x, {b, s, h * size + d}) : at(x, {b, h, s, d});
          };
          const auto turn = [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
            if (d >= 2 * half) return element(b, h, s, d);
            const std::int64_t pair = interleaved ? d / 2 : d % half, first = interleaved ? 2 * pair : pair,
                               second = interleaved ? first + 1 : pair + half;
            const auto row = [&](const NdArray& cache) {
              return chosen ? at(cache, {ids.as_int64(b * positions + s), pair}) : at(cache, {b, s, pair});
            };
            const double x1 = element(b, h, s, first), x2 = element(b, h, s, second);
            return d == first ? x1 * row(cosines) - x2 * row(sines) : x2 * row(cosines) + x1 * row(sines);
          };
          Case made("RotaryEmbedding");
          made.input(x).input(cosines).input(sines);
          if (chosen) made.input(ids);
          made.integer("interleaved", interleaved).integer("rotary_embedding_dim", turned);
          if (joined) made.integer("num_heads", heads);
          require_close(made.run1(),
                        filled(DType::float32, x.shape(),
                               [&](const Shape& p) {
                                 return joined ? turn(p[0], p[2] / size, p[1], p[2] % size)
                                               : turn(p[0], p[1], p[2], p[3]);
                               }),
                        0);
        }
  CHECK_THAT(Case("RotaryEmbedding")
                 .input(NdArray(DType::float32, {1, 2, 6}))
                 .input(NdArray(DType::float32, {1, 2, 3}))
                 .input(NdArray(DType::float32, {1, 2, 3}))
                 .refusal(),
             ContainsSubstring("input has shape [1, 2, 6], num_heads is 0"));
}

TEST_CASE("BitCast keeps the bits") {
  const auto number = [](DType dtype) { return std::int64_t{info(dtype).onnx}; };
  require_close(Case("BitCast").input(NdArray::from<float>({2}, {1, -2})).integer("to", number(DType::int32)).run1(),
                NdArray::from<std::int32_t>({2}, {0x3f800000, static_cast<std::int32_t>(0xc0000000)}), 0);
  require_close(Case("BitCast").input(NdArray::from<std::int8_t>({1}, {-1})).integer("to", number(DType::uint8)).run1(),
                NdArray::from<std::uint8_t>({1}, {255}), 0);
  CHECK_THAT(Case("BitCast").input(NdArray::scalar(1.0f)).integer("to", number(DType::int64)).refusal(),
             ContainsSubstring("float32 has 4 bytes, but int64 has 8"));
  CHECK_THAT(Case("Cast").input(NdArray::scalar(1.0f)).integer("to", 17).refusal(),
             ContainsSubstring("element type float8e4m3fn (17) is not supported"));
}

}  // namespace
}  // namespace dovetail::ops
