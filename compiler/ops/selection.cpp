// NonZero, Compress, Unique of constants: the number of their results depends on data and is known at compile time.
// bounded.cpp handles values that are computed at run time.
#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/value_dependent.h"

namespace dovetail::ops {
namespace {

bool is_set(const NdArray& array, std::int64_t i) {
  return is_floating(array.dtype()) ? array.as_double(i) != 0 : array.as_int64(i) != 0;
}

NdArray int64_values(Shape shape, const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>(std::move(shape), values);
}

// The row-major coordinates of the elements that are not zero, [rank, count].
Result<std::vector<NdArray>> evaluate_non_zero(const Operands& operands) {
  const NdArray& x = *operands.constant(0);
  const Shape shape = x.rank() == 0 ? Shape{1} : x.shape();
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < x.count(); ++i)
    if (is_set(x, i)) found.push_back(i);
  const auto count = static_cast<std::int64_t>(found.size()), rank = static_cast<std::int64_t>(shape.size());
  NdArray result(DType::int64, {rank, count});
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = found[static_cast<std::size_t>(n)];
    for (std::int64_t d = rank; d-- > 0; rest /= shape[static_cast<std::size_t>(d)])
      result.set_int64(d * count + n, rest % shape[static_cast<std::size_t>(d)]);
  }
  return std::vector{std::move(result)};
}

// The array viewed as [outer, slices, inner]: one slice for each position of the axis, or for each element.
struct Slices {
  const NdArray& array;
  std::int64_t outer = 1, count = 1, inner = 1;

  std::size_t size() const { return static_cast<std::size_t>(size_bytes(array.dtype())); }
  std::int64_t element(std::int64_t o, std::int64_t slice, std::int64_t i) const {
    return (o * count + slice) * inner + i;
  }
  // The slices with these numbers, concatenated.
  NdArray chosen(const std::vector<std::int64_t>& numbers, Shape shape) const {
    NdArray result(array.dtype(), std::move(shape));
    const auto row = static_cast<std::size_t>(inner) * size();
    std::byte* to = result.bytes().data();
    for (std::int64_t o = 0; o < outer; ++o)
      for (const std::int64_t n : numbers) {
        if (row > 0) std::memcpy(to, array.bytes().data() + static_cast<std::size_t>(element(o, n, 0)) * size(), row);
        to += row;
      }
    return result;
  }
  // Lexicographic order of the elements.
  std::strong_ordering compare(std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::strong_ordering order = compare_elements(element(o, a, i), element(o, b, i));
        if (order != std::strong_ordering::equal) return order;
      }
    return std::strong_ordering::equal;
  }

 private:
  std::strong_ordering compare_elements(std::int64_t a, std::int64_t b) const {
    if (is_floating(array.dtype())) {
      const double x = array.as_double(a), y = array.as_double(b);
      return x < y ? std::strong_ordering::less : x > y ? std::strong_ordering::greater : std::strong_ordering::equal;
    }
    const std::int64_t x = array.as_int64(a), y = array.as_int64(b);
    return array.dtype() == DType::uint64 ? static_cast<std::uint64_t>(x) <=> static_cast<std::uint64_t>(y) : x <=> y;
  }
};

// Slices along the attribute `axis`; without it, the elements in row-major order.
struct Along {
  Slices slices;
  std::optional<std::size_t> axis;

  Shape shape(std::size_t count) const {
    const auto extent = static_cast<std::int64_t>(count);
    if (!axis) return {extent};
    Shape shape = slices.array.shape();
    shape[*axis] = extent;
    return shape;
  }
};
Result<Along> along_axis_of(const Operands& operands) {
  const NdArray& x = *operands.constant(0);
  if (!operands.node.attributes.contains("axis")) return Along{{x, 1, x.count(), 1}, std::nullopt};
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const auto at = x.shape().begin() + static_cast<std::ptrdiff_t>(axis);
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
  };
  return Along{{x, product(x.shape().begin(), at), *at, product(at + 1, x.shape().end())}, axis};
}

// The slices where `condition` is true; it may be shorter than the axis.
Result<std::vector<NdArray>> evaluate_compress(const Operands& operands) {
  DOVETAIL_ASSIGN(const Along along, along_axis_of(operands));
  const NdArray& condition = *operands.constant(1);
  if (condition.rank() != 1 || condition.count() > along.slices.count)
    return refuse(
        operands,
        fmt::format("condition has shape {}, for {} slices", to_string(condition.shape()), along.slices.count),
        "condition must be a list no longer than the axis, or than the flattened input if no axis is given");
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < condition.count(); ++i)
    if (is_set(condition, i)) chosen.push_back(i);
  return std::vector{along.slices.chosen(chosen, along.shape(chosen.size()))};
}

// The distinct slices, sorted or in the order of first occurrence; their first occurrences, for each slice the number
// of its distinct slice, and the number of occurrences.
Result<std::vector<NdArray>> evaluate_unique(const Operands& operands) {
  DOVETAIL_ASSIGN(const Along along, along_axis_of(operands));
  const Slices& slices = along.slices;
  if (is_floating(slices.array.dtype()))
    for (std::int64_t i = 0; i < slices.array.count(); ++i)
      if (std::isnan(slices.array.as_double(i)))
        return refuse(operands, "the operand contains NaN, which equals no value", "replace NaN before the node");
  std::vector<std::int64_t> order(static_cast<std::size_t>(slices.count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return slices.compare(a, b) < 0; });
  struct Group {
    std::int64_t first, count;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> group_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != std::strong_ordering::equal)
      groups.push_back({order[i], 0});
    ++groups.back().count;
    group_of[static_cast<std::size_t>(order[i])] = groups.size() - 1;
  }
  std::vector<std::size_t> place(groups.size());  // position of each group among the results
  std::iota(place.begin(), place.end(), std::size_t{0});
  if (graph::int_attribute(operands.node, "sorted", 1) == 0) {
    std::vector<std::size_t> by_first(place);
    std::ranges::sort(by_first, {}, [&](std::size_t g) { return groups[g].first; });
    for (std::size_t i = 0; i < by_first.size(); ++i) place[by_first[i]] = i;
  }
  std::vector<std::int64_t> firsts(groups.size()), counts(groups.size()), inverse;
  for (std::size_t g = 0; g < groups.size(); ++g)
    firsts[place[g]] = groups[g].first, counts[place[g]] = groups[g].count;
  for (const std::size_t g : group_of) inverse.push_back(static_cast<std::int64_t>(place[g]));
  const auto length = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
  std::vector<NdArray> results{slices.chosen(firsts, along.shape(firsts.size())), int64_values(length(firsts), firsts),
                               int64_values(length(inverse), inverse), int64_values(length(counts), counts)};
  results.resize(operands.node.outputs.size());
  return results;
}

}  // namespace

std::vector<OpDef> selection_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {value_dependent("Compress", evaluate_compress, {{{"input"}, {"condition", kBool}}, {{"axis", integer}}}),
          value_dependent("NonZero", evaluate_non_zero, {{{"X"}}}),
          value_dependent("Unique", evaluate_unique, {{{"X"}}, {{"axis", integer}, {"sorted", integer}}, 4})};
}

}  // namespace dovetail::ops
