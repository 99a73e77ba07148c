// Random programs whose loops are bounded by conditions: linear ones in the variables and in data, of all sizes, and
// conditions that a loop waits for. Sums and scatters of integers, so that every executor has the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/ndarray.h"

namespace dovetail::loops::test {

struct ConditionProgram {
  std::string text;
  std::vector<NdArray> arguments;
};

class ConditionGenerator {
 public:
  explicit ConditionGenerator(std::uint64_t seed) : random_(seed) {}

  ConditionProgram generate() {
    constexpr std::int64_t kRows = 4;
    const std::int64_t n = below(2) == 0 ? 3 + below(6) : 32 + below(40), m = 2 + below(4);
    const std::string outer = condition({"i", "e", "f"}), term = condition({"i", "e"}), own = condition({"i", "e"});
    ConditionProgram result;
    result.text = fmt::format(R"(program conditions {{
  size rows = {}, n = {}, m = {}
  input from: int64[rows + 1]
  input small: int32[rows + 1]
  input begin: int64[rows + 1]
  input x: int32[n]
  output sum: int32[rows]
  output most: int32[rows]
  output bins: int32[16]
  output left: int64[]
  output part: int32[rows]
  output copied: int32[n]
  output masked: int32[rows, n]
  sum[i in rows] = sum[e in n where {}] x[e] + int32(i)
  most[i in rows] = max[e in n where {}] x[e]
  bins[b in 16] = 0
  for i in rows {{
    for e in n {{
      for f in m where {} {{ bins[(x[e] + int32(f)) % 16] += int32(e) + 1 }}
    }}
  }}
  masked[i in rows, e in n] = int32(e)
  masked[i in rows, e in n where {}] += x[e]
  part[i in rows] = sum[e in n where {}] x[begin[i] + e] * int32(e + 1)
  copied[i in n] = 0
  for i in rows {{
    for e in {} where {} {{ copied[begin[i] + e] += x[begin[i] + e] + int32(e) }}
  }}
  masked[i in rows, e in n where masked[{}, {}] > x[e]] += 1
  for e in n {{
    if copied[{}] > x[e] {{ copied[e] = x[e] - copied[e] }}
  }}
  left[] = {}
  for step in n while left[] > 0 {{
    left[] -= {}
    for e in n where e < left[] {{ bins[e % 16] += 1 }}
  }}
}}
)",
                              kRows, n, m, term, own, outer, condition({"i", "e"}), in_part(), 2 + below(n - 1),
                              in_part(), below(2) == 0 ? "i" : "(i + 1) % rows", place_near("e"), place_near("e"),
                              below(2 * n), 1 + below(3));
    NdArray from(DType::int64, {kRows + 1}), small(DType::int32, {kRows + 1}), begin(DType::int64, {kRows + 1}),
        x(DType::int32, {n});
    for (std::int64_t i = 0; i <= kRows; ++i) {
      from.set_int64(i, value(n));
      small.set_int64(i, below(n + 8) - 4);
      begin.set_int64(i, below(n + 1));
    }
    for (std::int64_t i = 0; i < n; ++i) x.set_int64(i, below(1000));
    result.arguments = {from, small, begin, x};
    return result;
  }

 private:
  std::int64_t below(std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_); }

  // Mostly near the loop's range; sometimes so large that sums of it wrap.
  std::int64_t value(std::int64_t n) {
    constexpr std::array<std::int64_t, 6> kHuge{
        INT64_MAX, INT64_MIN, INT64_MAX - 3, INT64_MIN + 5, std::int64_t{1} << 62, std::int64_t{1} << 41};
    return below(6) == 0 ? kHuge[static_cast<std::size_t>(below(6))] : below(n + 8) - 4;
  }

  // The element itself, or another one.
  std::string place_near(const std::string& var) {
    return below(2) == 0 ? var : fmt::format("({} + {}) % n", var, 1 + below(2));
  }

  // A condition that bounds e to a part of x, which begins at begin[i].
  std::string in_part() {
    constexpr std::array<std::string_view, 5> kForms{"begin[i] + e < begin[i + 1]", "e < begin[i + 1] - begin[i]",
                                                     "begin[i + 1] > e + begin[i]", "begin[i] + e <= begin[i + 1] - 1",
                                                     "begin[i + 1] - begin[i] >= e + 1"};
    std::string text(kForms[static_cast<std::size_t>(below(5))]);
    if (below(3) == 0) text += " && e % 2 == 0";
    return text;
  }

  std::string condition(const std::vector<std::string>& vars) {
    const std::string first = comparison(vars);
    return below(3) == 0 ? first + " && " + comparison(vars) : first;
  }

  std::string comparison(const std::vector<std::string>& vars) {
    constexpr std::array<std::string_view, 5> kOps{"<", "<=", ">", ">=", "=="};
    const auto side = [&] {
      std::string text = std::to_string(below(20) - 8);
      for (const std::string& var : vars)
        if (below(2) == 0) text += fmt::format(" + {} * {}", var, below(5) - 2);
      if (below(3) == 0) text += " + from[i]";
      if (below(3) == 0) text += fmt::format(" + {} * int64(small[i + 1])", 1 + below(2));
      return text;
    };
    return fmt::format("{} {} {}", side(), kOps[static_cast<std::size_t>(below(5))], side());
  }

  std::mt19937_64 random_;
};

}  // namespace dovetail::loops::test
