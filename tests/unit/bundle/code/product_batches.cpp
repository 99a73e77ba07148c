// Products with leading axes as calls of a library: each matrix of the result is computed once, from the operands that
// broadcasting gives it.
#include "bundle/code/product_batches.h"

#include <map>

#include "base/random.h"
#include "tests/catch.h"

using namespace dovetail;
using bundle::product_batches;

namespace {

using Triple = std::array<std::int64_t, 2>;  // elements before a row's matrix of a, and of b

// For each element of the result's first axes: where its row of a and its b begin.
std::map<std::int64_t, Triple> by_definition(const Shape& a, const Shape& b, std::int64_t m, std::int64_t n) {
  const std::size_t rank = std::max(a.size(), b.size());
  const auto extent = [&](const Shape& shape, std::size_t axis) {
    return axis + shape.size() < rank ? 1 : shape[axis + shape.size() - rank];
  };
  std::map<std::int64_t, Triple> places;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) count *= std::max(extent(a, axis), extent(b, axis));
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::array<std::int64_t, 2> step{a[a.size() - 1] * a[a.size() - 2], b[b.size() - 1] * b[b.size() - 2]};
    Triple at{0, 0};
    for (std::size_t axis = rank - 2; axis-- > 0;) {
      const std::int64_t both = std::max(extent(a, axis), extent(b, axis)), index = rest % both;
      rest /= both;
      if (extent(a, axis) != 1) at[0] += index * step[0];
      if (extent(b, axis) != 1) at[1] += index * step[1];
      step[0] *= extent(a, axis);
      step[1] *= extent(b, axis);
    }
    places[flat * m * n] = at;
  }
  return places;
}

}  // namespace

TEST_CASE("product batches: calls cover the result once, with the operands that broadcasting gives") {
  SplitMix64 random(7);
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(below));
  };
  std::size_t most_calls = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    const std::int64_t m = 1 + draw(4), n = 1 + draw(4), k = 1 + draw(4);
    const bool transposed_a = draw(2) == 1, transposed_b = draw(2) == 1;
    Shape a, b;
    const std::int64_t rank = draw(4);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const std::int64_t both = 1 + draw(3), kind = draw(3);
      a.push_back(kind == 1 ? 1 : both);
      b.push_back(kind == 2 ? 1 : both);
    }
    if (draw(3) == 0) b.erase(b.begin(), b.begin() + draw(rank + 1));
    for (const std::int64_t extent : transposed_a ? Shape{k, m} : Shape{m, k}) a.push_back(extent);
    for (const std::int64_t extent : transposed_b ? Shape{n, k} : Shape{k, n}) b.push_back(extent);
    CAPTURE(to_string(a), to_string(b), transposed_a, transposed_b);
    const auto expected = by_definition(a, b, m, n);
    const auto batches = product_batches(a, b, transposed_a, transposed_b);
    most_calls = std::max(most_calls, batches.calls.size());
    REQUIRE(batches.n == n);
    REQUIRE(batches.k == k);
    REQUIRE(batches.m % m == 0);
    std::map<std::int64_t, Triple> made;
    for (const auto& call : batches.calls)
      for (std::int64_t i = 0; i < batches.count; ++i)
        // Merged rows are stored one after the other.
        for (std::int64_t block = 0; block < batches.m / m; ++block) {
          const std::int64_t result = call.result + i * batches.stride_result + block * m * n;
          REQUIRE(
              made.emplace(result, Triple{call.a + i * batches.stride_a + block * m * k, call.b + i * batches.stride_b})
                  .second);
        }
    REQUIRE(made == expected);
  }
  CHECK(most_calls > 3);
}
