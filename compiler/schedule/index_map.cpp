#include "compiler/schedule/index_map.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace dovetail::schedule {

Shape IndexMap::physical_shape() const {
  Shape shape;
  for (const Part& part : parts) shape.push_back(part.extent);
  return shape;
}

std::vector<loops::Expr> IndexMap::apply(const std::vector<loops::Expr>& logical) const {
  std::vector<loops::Expr> physical;
  for (const Part& part : parts) {
    const auto d = static_cast<std::size_t>(part.dimension);
    loops::Expr index = logical[d];
    if (part.divisor != 1) index = loops::floor_div(index, part.divisor);
    if (part.divisor * part.extent != logical_shape[d]) index = loops::floor_mod(index, part.extent);
    physical.push_back(std::move(index));
  }
  return physical;
}

Result<IndexMap> parse_index_map(std::string_view text, const Shape& logical_shape) {
  IndexMap map{logical_shape, {}};
  const auto fail = [&](std::string why) {
    return Diagnostic{fmt::format("cannot use index map {}", text), "", std::move(why),
                      "write e.g. i0,i1/16,i2,i3,i1%16 for [n, c/16, y, x, c%16]"};
  };
  std::string_view rest = text;
  const auto number = [&](std::int64_t& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  };
  struct Raw {
    std::int64_t dimension, divisor, modulus;
  };
  std::vector<Raw> raw;
  while (true) {
    Raw part{0, 1, 0};
    if (rest.empty() || rest[0] != 'i') return fail(fmt::format("expected a part such as i0 at «{}»", rest));
    rest.remove_prefix(1);
    if (!number(part.dimension) || part.dimension < 0 ||
        part.dimension >= static_cast<std::int64_t>(logical_shape.size()))
      return fail(logical_shape.empty() ? std::string("the buffer has no dimensions")
                                        : fmt::format("the buffer has dimensions i0 to i{}", logical_shape.size() - 1));
    if (!rest.empty() && rest[0] == '/') {
      rest.remove_prefix(1);
      if (!number(part.divisor) || part.divisor < 1) return fail("a divisor must be a positive integer");
    }
    if (!rest.empty() && rest[0] == '%') {
      rest.remove_prefix(1);
      if (!number(part.modulus) || part.modulus < 1) return fail("a modulus must be a positive integer");
    }
    raw.push_back(part);
    if (rest.empty()) break;
    if (rest[0] != ',') return fail(fmt::format("expected a comma at «{}»", rest));
    rest.remove_prefix(1);
  }
  for (const Raw& part : raw) {
    const std::int64_t extent = logical_shape[static_cast<std::size_t>(part.dimension)];
    if (extent % part.divisor != 0)
      return fail(
          fmt::format("{} does not divide the extent {} of dimension i{}", part.divisor, extent, part.dimension));
    map.parts.push_back(
        {static_cast<int>(part.dimension), part.divisor, part.modulus ? part.modulus : extent / part.divisor});
  }
  for (std::size_t d = 0; d < logical_shape.size(); ++d) {
    std::vector<IndexMap::Part> own;
    for (const IndexMap::Part& part : map.parts)
      if (part.dimension == static_cast<int>(d)) own.push_back(part);
    // At equal divisors, parts of extent 1 come first: they hold nothing.
    std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) {
      return std::pair(a.divisor, a.extent) < std::pair(b.divisor, b.extent);
    });
    std::int64_t covered = 1;
    for (const IndexMap::Part& part : own) {
      if (part.extent != 1 && part.divisor != covered)
        return fail(fmt::format("the parts of dimension i{} leave a gap or overlap at {}", d, covered));
      if (part.extent != 1) covered *= part.extent;
    }
    if (covered != logical_shape[d])
      return fail(fmt::format("the parts of dimension i{} cover {} of its {} values", d, covered, logical_shape[d]));
  }
  return map;
}

namespace {

// The element at each place of `packed`, in order; `step`: how far a place of each dimension moves among the elements
// of `logical`. The two innermost dimensions are plain loops.
template <typename Element>
void gather(const NdArray& logical, NdArray& packed, const std::vector<std::int64_t>& extent,
            const std::vector<std::int64_t>& step) {
  const auto* from = reinterpret_cast<const Element*>(logical.bytes().data());
  auto* to = reinterpret_cast<Element*>(packed.bytes().data());
  const std::size_t outer = extent.size() - 2;
  const std::int64_t rows = extent[outer], columns = extent[outer + 1], row = step[outer], column = step[outer + 1];
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t offset = 0;
  for (std::int64_t left = packed.count() / std::max<std::int64_t>(1, rows * columns); left > 0; --left) {
    for (std::int64_t r = 0; r < rows; ++r, to += columns)
      for (std::int64_t c = 0; c < columns; ++c) to[c] = from[offset + r * row + c * column];
    for (std::size_t p = outer; p-- > 0;) {
      offset += step[p];
      if (++index[p] < extent[p]) break;
      offset -= step[p] * extent[p];
      index[p] = 0;
    }
  }
}

}  // namespace

NdArray pack(const NdArray& logical, const IndexMap& map) {
  DOVETAIL_CHECK(logical.shape() == map.logical_shape,
                 dovetail::to_string(logical.shape()) + " against " + dovetail::to_string(map.logical_shape));
  std::vector<std::int64_t> strides(map.logical_shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * map.logical_shape[d];
  // Each physical dimension moves the logical offset by a constant: physical order is an odometer over those.
  NdArray packed(logical.dtype(), map.physical_shape());
  std::vector<std::int64_t> extent{1, 1}, step{0, 0};
  for (const IndexMap::Part& part : map.parts) {
    extent.push_back(part.extent);
    step.push_back(strides[static_cast<std::size_t>(part.dimension)] * part.divisor);
  }
  switch (size_bytes(logical.dtype())) {
    case 1: gather<std::uint8_t>(logical, packed, extent, step); break;
    case 2: gather<std::uint16_t>(logical, packed, extent, step); break;
    case 4: gather<std::uint32_t>(logical, packed, extent, step); break;
    case 8: gather<std::uint64_t>(logical, packed, extent, step); break;
    default: DOVETAIL_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
  return packed;
}

Fragment::Place Fragment::place(const std::vector<std::int64_t>& element) const {
  Place place{0, 0};
  for (std::size_t p = 0; p < map.parts.size(); ++p) {
    const IndexMap::Part& part = map.parts[p];
    std::int64_t& number = p < lanes ? place.lane : place.register_index;
    number = number * part.extent + element[static_cast<std::size_t>(part.dimension)] / part.divisor % part.extent;
  }
  return place;
}

Result<Fragment> parse_fragment(std::string_view text, const Shape& logical_shape) {
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || text.find('|', bar + 1) != std::string_view::npos)
    return Diagnostic{fmt::format("cannot use fragment {}", text), "",
                      "it has no single bar between lanes and registers", "write e.g. i0%8,i1/2|i0/8,i1%2"};
  std::string joined(text);
  joined[bar] = ',';
  DOVETAIL_ASSIGN(IndexMap map, parse_index_map(joined, logical_shape));
  return Fragment{
      std::move(map),
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bar), ',')) + 1};
}

}  // namespace dovetail::schedule
