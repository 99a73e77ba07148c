// Index maps with swizzles: they are one to one, expressions and packed constants agree on where an element is stored,
// and maps without an inverse are refused.
#include "compiler/schedule/index_map.h"

#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/random.h"
#include "loops/rewrite.h"
#include "loops/simplify_rules.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::schedule;
using Catch::Matchers::ContainsSubstring;

namespace {

// Where the map's expressions put each element, in row-major order.
std::vector<std::int64_t> places(const IndexMap& map) {
  std::vector<loops::Var> vars;
  std::vector<loops::Expr> logical;
  for (std::size_t d = 0; d < map.logical_shape.size(); ++d) {
    vars.push_back(loops::make_var(fmt::format("i{}", d)));
    logical.push_back(loops::ref(vars.back()));
  }
  const std::vector<loops::Expr> physical = map.apply(logical);
  std::vector<std::int64_t> places, index(vars.size(), 0);
  for (std::int64_t left = element_count(map.logical_shape); left > 0; --left) {
    std::map<const loops::VarNode*, std::int64_t> values;
    for (std::size_t d = 0; d < vars.size(); ++d) values[vars[d].get()] = index[d];
    std::int64_t place = 0;
    for (std::size_t p = 0; p < physical.size(); ++p)
      place = place * map.parts[p].extent + loops::evaluate(physical[p], values).value();
    places.push_back(place);
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == map.logical_shape[d];) index[d] = 0;
  }
  return places;
}

void check_one_to_one(const std::string& text, const Shape& shape) {
  INFO(text << " of " << to_string(shape));
  const auto map = parse_index_map(text, shape);
  if (!map) FAIL(to_string(map.errors()));
  const std::vector<std::int64_t> at = places(*map);
  CHECK(std::set(at.begin(), at.end()).size() == at.size());
  NdArray numbers(DType::int32, shape);
  for (std::int64_t i = 0; i < numbers.count(); ++i) numbers.set_int64(i, i);
  const NdArray packed = pack(numbers, *map);
  CHECK(packed.shape() == map->physical_shape());
  for (std::size_t i = 0; i < at.size(); ++i) CHECK(packed.as_int64(at[i]) == static_cast<std::int64_t>(i));
}

}  // namespace

TEST_CASE("index map: swizzles are one to one, and packed constants agree with the expressions") {
  check_one_to_one("i0,i1/8^i0%8,i1%8", {16, 64});          // 128 bytes of 16 bits
  check_one_to_one("i0,i1/8^i0/2%4,i1%8", {16, 32});        // 64 bytes
  check_one_to_one("i0,i1/8^i0/4%2,i1%8", {16, 16});        // 32 bytes
  check_one_to_one("i1/64,i0,i1/8%8^i0%8,i1%8", {8, 128});  // panels of 64 columns
  SplitMix64 random(7);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t rows = std::int64_t{1} << random.next() % 4,
                       odd = 1 + static_cast<std::int64_t>(random.next() % 3), columns = rows << random.next() % 3,
                       inner = 1 + static_cast<std::int64_t>(random.next() % 3);
    const std::string swizzled = fmt::format("i1/{}^i0%{}", inner, rows), row = "i0",
                      rest = fmt::format("i1%{}", inner);
    const std::string text = random.next() % 2 == 0 ? fmt::format("{},{},{}", row, swizzled, rest)
                                                    : fmt::format("{},{},{}", swizzled, rest, row);
    check_one_to_one(text, {odd * rows, columns * inner});
  }
}

TEST_CASE("index map: eight rows of 128 swizzled bytes are in different banks at any column") {
  const auto map = parse_index_map("i0,i1/8^i0%8,i1%8", {8, 64});
  const std::vector<std::int64_t> at = places(*map);
  for (std::size_t column = 0; column < 64; column += 8) {
    std::set<std::int64_t> banks;  // of 16 bytes
    for (std::size_t row = 0; row < 8; ++row) banks.insert(at[row * 64 + column] / 8 % 8);
    CHECK(banks.size() == 8);
  }
}

TEST_CASE("index map: swizzles without an inverse are refused") {
  const auto why = [](const char* text, const Shape& shape) {
    const auto map = parse_index_map(text, shape);
    return map.ok() ? std::string() : to_string(map.errors());
  };
  CHECK_THAT(why("i0,i1^i0%4", {8, 6}), ContainsSubstring("6 values cannot be swizzled by 4"));
  CHECK_THAT(why("i0,i1^i0%3", {6, 8}), ContainsSubstring("8 values cannot be swizzled by 3"));
  CHECK_THAT(why("i0,i1^i0", {8, 4}), ContainsSubstring("4 values cannot be swizzled by 8"));
  CHECK_THAT(why("i0^i1,i1^i0", {4, 4}),
             ContainsSubstring("dimension i1 swizzles another one, and is swizzled itself"));
  CHECK_THAT(why("i0/4,i0%4^i0/4", {16}), ContainsSubstring("swizzles another one, and is swizzled itself"));
  CHECK_THAT(why("i0,i1^", {4, 4}), ContainsSubstring("expected a part"));
  CHECK_THAT(why("i0,i1^i2", {4, 4}), ContainsSubstring("the buffer has dimensions i0 to i1"));
  CHECK_THAT(why("i0,i1^i0/3", {4, 4}), ContainsSubstring("3 does not divide the extent 4 of dimension i0"));
  CHECK(to_string(parse_fragment("i0^i1|i1", {4, 4}).errors()).find("lanes and registers must not be swizzled") !=
        std::string::npos);
}

TEST_CASE("index map: its text parses to the same places, and two maps compose") {
  const Shape shape{4, 32};
  int composed = 0;
  for (const std::string first : {"i0,i1", "i1,i0", "i0,i1/16,i0%1,i1%16", "i1/8,i0,i1%8", "i0,i1^i0%4"}) {
    const auto map = parse_index_map(first, shape);
    REQUIRE(map.ok());
    const auto again = parse_index_map(to_string(*map), shape);
    REQUIRE(again.ok());
    CHECK(places(*again) == places(*map));
    NdArray numbers(DType::int32, shape);
    for (std::int64_t i = 0; i < numbers.count(); ++i) numbers.set_int64(i, i);
    const NdArray packed = pack(numbers, *map);
    for (const std::string second :
         {"i0,i1", "i1,i0", "i0/2,i1,i0%2", "i0,i1/2,i1%2", "i1^i0%2,i0", "i0,i1,i3^i2%2", "i0,i1/16,i2,i3,i1%1",
          "i0,i1,i2,i3", "i0,i1,i3,i2/2,i2%2", "i1,i2,i0%2^i2%2,i0/2"}) {
      const auto after = parse_index_map(second, map->physical_shape());
      if (!after.ok()) continue;
      INFO(first << " then " << second);
      const auto both = compose(*map, *after);
      if (both.ok()) {
        ++composed;
        CHECK(pack(numbers, *both) == pack(packed, *after));
        CHECK(places(*parse_index_map(to_string(*both), shape)) == places(*both));
      } else {
        CHECK_THAT(to_string(both.errors()), ContainsSubstring("transform the layout once"));
      }
    }
  }
  CHECK(composed > 10);
}
