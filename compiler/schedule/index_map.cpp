#include "compiler/schedule/index_map.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace dovetail::schedule {

Shape IndexMap::physical_shape() const {
  Shape shape;
  for (const Part& part : parts) shape.push_back(part.extent);
  return shape;
}

std::vector<loops::Expr> IndexMap::apply(const std::vector<loops::Expr>& logical) const {
  const auto part_of = [&](int dimension, std::int64_t divisor, std::int64_t extent) {
    const auto d = static_cast<std::size_t>(dimension);
    loops::Expr index = logical[d];
    if (divisor != 1) index = loops::floor_div(index, divisor);
    if (divisor * extent != logical_shape[d]) index = loops::floor_mod(index, extent);
    return index;
  };
  std::vector<loops::Expr> physical;
  for (const Part& part : parts) {
    loops::Expr index = part_of(part.dimension, part.divisor, part.extent);
    if (const auto& other = part.swizzle)
      index = loops::binary(loops::BinaryOp::bit_xor, index, part_of(other->dimension, other->divisor, other->extent));
    physical.push_back(std::move(index));
  }
  return physical;
}

namespace {

// Why the swizzles of a map cannot be inverted; empty: they can.
std::string swizzle_problem(const IndexMap& map) {
  const auto is_power = [](std::int64_t value) { return std::has_single_bit(static_cast<std::uint64_t>(value)); };
  for (const IndexMap::Part& part : map.parts) {
    if (!part.swizzle) continue;
    if (!is_power(part.extent) || !is_power(part.swizzle->extent) || part.swizzle->extent > part.extent)
      return fmt::format("{} values cannot be swizzled by {}: both must be powers of two, the second no larger",
                         part.extent, part.swizzle->extent);
    for (const IndexMap::Part& other : map.parts)
      if (other.dimension == part.swizzle->dimension && other.swizzle)
        return fmt::format("dimension i{} swizzles another one, and is swizzled itself", other.dimension);
  }
  return "";
}

}  // namespace

Result<IndexMap> parse_index_map(std::string_view text, const Shape& logical_shape) {
  IndexMap map{logical_shape, {}};
  const auto fail = [&](std::string why) {
    return Diagnostic{fmt::format("cannot use index map {}", text), "", std::move(why),
                      "write for example i0,i1/16,i2,i3,i1%16 for [n, c/16, y, x, c%16]"};
  };
  std::string_view rest = text;
  const auto number = [&](std::int64_t& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  };
  // Parses dimension, divisor and extent of a part; returns the error.
  const auto read_part = [&](IndexMap::Part::Swizzle& part) -> std::string {
    std::int64_t dimension = 0, divisor = 1, modulus = 0;
    if (rest.empty() || rest[0] != 'i') return fmt::format("expected a part such as i0 at «{}»", rest);
    rest.remove_prefix(1);
    if (!number(dimension) || dimension < 0 || dimension >= static_cast<std::int64_t>(logical_shape.size()))
      return logical_shape.empty() ? std::string("the buffer has no dimensions")
                                   : fmt::format("the buffer has dimensions i0 to i{}", logical_shape.size() - 1);
    if (!rest.empty() && rest[0] == '/') {
      rest.remove_prefix(1);
      if (!number(divisor) || divisor < 1) return "a divisor must be a positive integer";
    }
    if (!rest.empty() && rest[0] == '%') {
      rest.remove_prefix(1);
      if (!number(modulus) || modulus < 1) return "a modulus must be a positive integer";
    }
    const std::int64_t extent = logical_shape[static_cast<std::size_t>(dimension)];
    if (extent % divisor != 0)
      return fmt::format("{} does not divide the extent {} of dimension i{}", divisor, extent, dimension);
    part = {static_cast<int>(dimension), divisor, modulus != 0 ? modulus : extent / divisor};
    return "";
  };
  while (true) {
    IndexMap::Part::Swizzle read{};
    if (std::string why = read_part(read); !why.empty()) return fail(std::move(why));
    IndexMap::Part part{read.dimension, read.divisor, read.extent};
    if (!rest.empty() && rest[0] == '^') {
      rest.remove_prefix(1);
      if (std::string why = read_part(read); !why.empty()) return fail(std::move(why));
      part.swizzle = read;
    }
    map.parts.push_back(part);
    if (rest.empty()) break;
    if (rest[0] != ',') return fail(fmt::format("expected a comma at «{}»", rest));
    rest.remove_prefix(1);
  }
  for (std::size_t d = 0; d < logical_shape.size(); ++d) {
    std::vector<IndexMap::Part> own;
    for (const IndexMap::Part& part : map.parts)
      if (part.dimension == static_cast<int>(d)) own.push_back(part);
    // At equal divisors, parts of extent 1 come first: they cover nothing.
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
  if (std::string why = swizzle_problem(map); !why.empty()) return fail(std::move(why));
  return map;
}

std::string to_string(const IndexMap& map) {
  std::string text;
  const auto part_text = [&](int dimension, std::int64_t divisor, std::int64_t extent) {
    text += fmt::format("i{}", dimension);
    if (divisor != 1) text += fmt::format("/{}", divisor);
    if (divisor * extent != map.logical_shape[static_cast<std::size_t>(dimension)]) text += fmt::format("%{}", extent);
  };
  for (const IndexMap::Part& part : map.parts) {
    if (!text.empty()) text += ',';
    part_text(part.dimension, part.divisor, part.extent);
    if (!part.swizzle) continue;
    text += '^';
    part_text(part.swizzle->dimension, part.swizzle->divisor, part.swizzle->extent);
  }
  return text;
}

Result<IndexMap> compose(const IndexMap& first, const IndexMap& second) {
  IndexMap both{first.logical_shape, {}};
  const auto cannot = [&](std::string why) {
    return Diagnostic{fmt::format("cannot use index map {}", to_string(second)), "",
                      fmt::format("{}, since the buffer already has the layout {}", why, to_string(first)),
                      "transform the layout once, with one map"};
  };
  // (x // d) % e of a value that is (i // D) % E is (i // (D * d)) % e, since d * e divides E.
  for (const IndexMap::Part& part : second.parts) {
    const IndexMap::Part& from = first.parts[static_cast<std::size_t>(part.dimension)];
    if (from.swizzle && part.extent != from.extent)
      return cannot(fmt::format("dimension i{} is split", part.dimension));
    IndexMap::Part whole{from.dimension, from.divisor * part.divisor, part.extent, from.swizzle};
    if (part.swizzle) {
      const IndexMap::Part& other = first.parts[static_cast<std::size_t>(part.swizzle->dimension)];
      // The swizzling value has fewer bits if its dimension is short.
      const std::int64_t extent = std::min(part.swizzle->extent, other.extent / part.swizzle->divisor);
      if (from.swizzle || other.swizzle || other.extent % (part.swizzle->divisor * extent) != 0)
        return cannot(fmt::format("dimension i{} is split", part.swizzle->dimension));
      if (extent > 1) whole.swizzle = {other.dimension, other.divisor * part.swizzle->divisor, extent};
    }
    both.parts.push_back(whole);
  }
  if (std::string why = swizzle_problem(both); !why.empty()) return cannot(std::move(why));
  return both;
}

namespace {

// A row of a block of channels is a multiple of kTogether, so no remainder loop is needed.
constexpr std::int64_t kTogether = 8;
template <typename Element>
void copy_row(const Element* from, std::int64_t step, Element* to, std::int64_t count) {
  for (; count >= kTogether; count -= kTogether, from += kTogether * step, to += kTogether)
    [&]<std::int64_t... i>(std::integer_sequence<std::int64_t, i...>) { ((to[i] = from[i * step]), ...); }
  (std::make_integer_sequence<std::int64_t, kTogether>());
  for (; count > 0; --count, from += step) *to++ = *from;
}

// The element at each position of `packed`, in order; `step`: the stride in `logical` of each dimension. The two
// innermost dimensions are plain loops.
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
    for (std::int64_t r = 0; r < rows; ++r, to += columns) copy_row(from + offset + r * row, column, to, columns);
    for (std::size_t p = outer; p-- > 0;) {
      offset += step[p];
      if (++index[p] < extent[p]) break;
      offset -= step[p] * extent[p];
      index[p] = 0;
    }
  }
}

}  // namespace

namespace {

std::int64_t value_of(const IndexMap::Part& part, const std::vector<std::int64_t>& index) {
  const auto of = [&](int dimension, std::int64_t divisor, std::int64_t extent) {
    return index[static_cast<std::size_t>(dimension)] / divisor % extent;
  };
  const std::int64_t value = of(part.dimension, part.divisor, part.extent);
  const auto& other = part.swizzle;
  return other ? value ^ of(other->dimension, other->divisor, other->extent) : value;
}

// Element by element, each to the position given by the map.
NdArray scatter(const NdArray& logical, const IndexMap& map) {
  NdArray packed(logical.dtype(), map.physical_shape());
  const auto bytes = static_cast<std::size_t>(size_bytes(logical.dtype()));
  std::vector<std::int64_t> index(map.logical_shape.size(), 0);
  for (std::int64_t i = 0, count = logical.count(); i < count; ++i) {
    std::int64_t offset = 0;
    for (const IndexMap::Part& part : map.parts) offset = offset * part.extent + value_of(part, index);
    std::memcpy(packed.bytes().data() + static_cast<std::size_t>(offset) * bytes,
                logical.bytes().data() + static_cast<std::size_t>(i) * bytes, bytes);
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == map.logical_shape[d];) index[d] = 0;
  }
  return packed;
}

}  // namespace

NdArray pack(const NdArray& logical, const IndexMap& map) {
  DOVETAIL_CHECK(logical.shape() == map.logical_shape,
                 dovetail::to_string(logical.shape()) + " against " + dovetail::to_string(map.logical_shape));
  if (std::ranges::any_of(map.parts, [](const IndexMap::Part& part) { return part.swizzle.has_value(); }))
    return scatter(logical, map);
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
    default: DOVETAIL_CHECK(false, "elements must have 1, 2, 4 or 8 bytes");
  }
  return packed;
}

Fragment::Place Fragment::place(const std::vector<std::int64_t>& element) const {
  Place place{0, 0};
  for (std::size_t p = 0; p < map.parts.size(); ++p) {
    const IndexMap::Part& part = map.parts[p];
    std::int64_t& number = p < lanes ? place.lane : place.register_index;
    number = number * part.extent + value_of(part, element);
  }
  return place;
}

Result<Fragment> parse_fragment(std::string_view text, const Shape& logical_shape) {
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || text.find('|', bar + 1) != std::string_view::npos)
    return Diagnostic{fmt::format("cannot use fragment {}", text), "",
                      "the fragment must have one bar between lanes and registers",
                      "write for example i0%8,i1/2|i0/8,i1%2"};
  std::string joined(text);
  joined[bar] = ',';
  DOVETAIL_ASSIGN(IndexMap map, parse_index_map(joined, logical_shape));
  if (joined.find('^') != std::string::npos)
    return Diagnostic{fmt::format("cannot use fragment {}", text), "", "lanes and registers must not be swizzled",
                      "write for example i0%8,i1/2|i0/8,i1%2"};
  return Fragment{
      std::move(map),
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bar), ',')) + 1};
}

}  // namespace dovetail::schedule
