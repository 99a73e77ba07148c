// online_softmax: a softmax that weighs a matrix, piece by piece of its row.
#include <cmath>
#include <limits>

#include "loops/interpreter.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail;
using namespace dovetail::schedule::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// `element`: of x; `weight`: how e[i, k] weighs a row of v.
std::string online_program(const std::string& element = "x[i, n]", const std::string& weight = "e[i, k]",
                           const std::string& largest = "x[i, n]") {
  return R"(program p { input x: float32[3, 7] input v: float32[7, 2] output y: float32[3, 2]
  alloc m: float32[3] alloc e: float32[3, 7] alloc s: float32[3] alloc w: float32[3, 2]
  for i0 in 3 { for n0 in 7 { block largest { spatial i in 3 = i0 reduce n in 7 = n0 reads m[i], x[i, n] writes m[i]
    init { m[i] = -inf } m[i] = max(m[i], )" +
         largest + R"() } } }
  for i1 in 3 { for n1 in 7 { block power { spatial i in 3 = i1 spatial n in 7 = n1 reads x[i, n], m[i] writes e[i, n]
    e[i, n] = exp()" +
         element + R"( - m[i]) } } }
  for i2 in 3 { for n2 in 7 { block sum { spatial i in 3 = i2 reduce n in 7 = n2 reads s[i], e[i, n] writes s[i]
    init { s[i] = 0.0 } s[i] = s[i] + e[i, n] } } }
  for i3 in 3 { for e3 in 2 { for k3 in 7 { block w @sum("products") { spatial i in 3 = i3 spatial j in 2 = e3 reduce k in 7 = k3
    reads w[i, j], e[i, 0 +: 7], x[i, k], v[k, j] writes w[i, j] init { w[i, j] = 0.0 } w[i, j] = w[i, j] + )" +
         weight + R"( * v[k, j] } } } }
  for i4 in 3 { for e4 in 2 { block last { spatial i in 3 = i4 spatial j in 2 = e4 reads w[i, j], s[i] writes y[i, j]
    y[i, j] = w[i, j] / s[i] } } } })";
}

NdArray online_values(const std::string& step, const NdArray& x) {
  NdArray v(DType::float32, {7, 2});
  for (std::int64_t i = 0; i < v.count(); ++i) v.set_double(i, static_cast<double>(i % 5) - 2);
  const auto have = loops::evaluate(parsed(step.empty() ? online_program() : scheduled(online_program(), step)),
                                    std::vector<NdArray>{x, v});
  REQUIRE((have.ok() ? "" : to_string(have.errors())) == "");
  return have->front();
}

}  // namespace

TEST_CASE("online_softmax: a tile of rows processes the row one piece at a time") {
  const std::string text = scheduled(online_program(), "online_softmax w 2 4 3 2 1");
  for (const char* part :
       {"w.values[n, e] = select(n < 7 && e < 2, v[n, e], 0.0)", "for w.rows in 2", "for w.pieces in 2",
        "w.x[m, c] = select(m < 3 && o * 4 + c < 7, x[m, o * 4 + c], -inf)",
        "w.lanes_largest[m, t] = max(w.lanes_largest[m, t], w.x[m, ",
        "w.next[m] = max(w.largest[m], w.piece_largest[m])",
        "w.fade[m] = exp(w.largest[m] - select(w.next[m] == -inf, 0.0, w.next[m]))",
        "w.sum[m] = w.sum[m] * w.fade[m] + w.piece_sum[m]", "w.total[m, e] = w.total[m, e] * w.fade[m]",
        "w.total[m, e] = w.total[m, e] + w.weight[m, k] * w.values[o * 4 + k, e]", "@sum(\"products\")",
        "where m < 3 && e < 2", "y[m, e] = w.total[m, e] / w.sum[m]"})
    CHECK_THAT(text, ContainsSubstring(part));
  for (const char* gone : {"alloc e:", "alloc m:", "alloc w:", "block power"})
    CHECK_THAT(text, !ContainsSubstring(gone));
}

TEST_CASE("online_softmax: the values equal those of the whole row, where some or all pieces hold only -inf") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  NdArray x(DType::float32, {3, 7});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set_double(i, static_cast<double>(i * 5 % 9) - 3);
  for (std::int64_t n = 0; n < 7; ++n) x.set_double(7 + n, n == 5 ? 2.0 : -kInfinity);  // the first piece is hidden
  for (std::int64_t n = 0; n < 7; ++n) x.set_double(14 + n, -kInfinity);
  const NdArray whole = online_values("", x);
  for (const char* step : {"online_softmax w 2 4 3 2 1", "online_softmax w 1 2 2 1 2", "online_softmax w 3 8 1 2 2",
                           "online_softmax w 5 1 4 1 1"}) {
    INFO(step);
    const NdArray pieces = online_values(step, x);
    for (std::int64_t i = 0; i < whole.count(); ++i) {
      CHECK(std::isnan(pieces.as_double(i)) == (i >= 4));
      CHECK(std::isnan(whole.as_double(i)) == (i >= 4));
      if (i < 4) CHECK(pieces.as_double(i) == Approx(whole.as_double(i)).epsilon(1e-6));
    }
  }
}

TEST_CASE("schedule refusals: online_softmax") {
  const std::string good = online_program();
  check_refused(good, "online_softmax w 2 4 3 0 1", "a size must be an integer of at least 1");
  check_refused(good, "online_softmax w 5000 4 3 1 1", "the size 5000 is above 4096");
  check_refused(good, "online_softmax w 2 5 3 2 1", "2 lanes of 1 do not divide 5 columns");
  check_refused(good, "online_softmax sum 2 4 3 1 1", "the block is not a sum of products that starts at 0");
  check_refused(good, "split n1 2 -> a b\nonline_softmax w 2 4 3 1 1",
                "the blocks are not alone in nests of one serial loop for each iterator");
  check_refused(online_program("x[i, n] * 2.0"), "online_softmax w 2 4 3 1 1",
                "the value subtracted from the exponent is not the largest of the row");
  check_refused(online_program("x[i, n]", "e[i, 6 - k]"), "online_softmax w 2 4 3 1 1",
                "the left factor is not a row of the softmax");
  check_refused(online_program("x[i, n]", "x[i, k]"), "online_softmax w 2 4 3 1 1",
                "the left factor is not computed by a single block");
}
