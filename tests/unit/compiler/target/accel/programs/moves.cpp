// Movements, split into parts.
#include "compiler/target/accel/programs/moves.h"

#include <functional>
#include <vector>

#include "compiler/target/support/element_sources.h"
#include "tests/catch.h"

namespace dovetail::accel {

namespace {

using Source = std::function<std::int32_t(std::int64_t o, std::int64_t y, std::int64_t x)>;

Result<std::vector<MoveSpec>> plan(const ImageShape& input, const ImageShape& result, const Source& source) {
  std::vector<std::int32_t> sources;
  for (std::int64_t o = 0; o < result.c; ++o)
    for (std::int64_t y = 0; y < result.h; ++y)
      for (std::int64_t x = 0; x < result.w; ++x) sources.push_back(source(o, y, x));
  return plan_moves(sources, std::vector{input}, result, 16);
}
std::int32_t element(const ImageShape& of, std::int64_t c, std::int64_t y, std::int64_t x) {
  return kFirstSource + static_cast<std::int32_t>((c * of.h + y) * of.w + x);
}

constexpr ImageShape kImage{1, 40, 6, 6};

}  // namespace

TEST_CASE("moves: whole blocks are one part, whatever the number of channels in the last") {
  const auto parts = plan(kImage, kImage, [](auto o, auto y, auto x) { return element(kImage, o, y, x); });
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 1);
  CHECK(parts->front().blocks == 3);
  CHECK_FALSE(parts->front().terms[0].selects());
}

TEST_CASE("moves: channels at an offset from their blocks are sums of two terms") {
  const auto parts = plan(kImage, {1, 30, 6, 6}, [](auto o, auto y, auto x) { return element(kImage, o + 5, y, x); });
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 2);  // the second block ends earlier
  for (const MoveSpec& part : *parts) {
    REQUIRE(part.terms.size() == 2);
    CHECK(part.terms[0].channels[0] == 5);
    CHECK(part.terms[1].channels[11] == 0);
    CHECK(part.terms[1].channels[10] == -1);
  }
}

TEST_CASE("moves: pixels at a period are separate parts") {
  const ImageShape large{1, 40, 12, 6};
  const auto parts = plan(kImage, large, [](auto o, auto y, auto x) { return element(kImage, o, y / 2, x); });
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 2);
  CHECK(parts->at(1).rows.first == 1);
  CHECK(parts->at(1).rows.step == 2);
  CHECK(parts->at(1).rows.count == 6);
  CHECK(parts->at(1).terms[0].rows.step == 1);
}

TEST_CASE("moves: constants fill whole blocks, or are 0") {
  const auto with = [](std::int32_t constant, std::int64_t from) {
    return plan(kImage, {1, 48, 6, 6},
                [=](auto o, auto y, auto x) { return o < from ? element(kImage, o, y, x) : constant; });
  };
  REQUIRE(with(7, 32).ok());
  CHECK(with(7, 32)->back().terms.empty());
  CHECK(with(7, 32)->back().fill == 7);
  CHECK(with(0, 36).ok());
  REQUIRE_FALSE(with(7, 36).ok());
  CHECK(with(7, 36).errors().front().why == "a block of channels has both constants and values");
}

TEST_CASE("moves: only depth to space is a fold of its result") {
  const ImageShape large{1, 5, 12, 24};  // phases of 2 x 4 pixels
  const auto folds = [&](const Source& source) {
    std::vector<std::int32_t> sources;
    for (std::int64_t o = 0; o < large.c; ++o)
      for (std::int64_t y = 0; y < large.h; ++y)
        for (std::int64_t x = 0; x < large.w; ++x) sources.push_back(source(o, y, x));
    return folds_of_move(sources, std::vector{kImage}, large);
  };
  const auto found =
      folds([](auto o, auto y, auto x) { return element(kImage, (y % 2 * 4 + x % 4) * 5 + o, y / 2, x / 4); });
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Layout::Fold{3, 1, 4, 6, 4, 1, 0});
  CHECK(found[1] == Layout::Fold{2, 1, 2, 6, 2, 1, 0});
  // The phases of a channel next to each other.
  const auto within =
      folds([](auto o, auto y, auto x) { return element(kImage, o * 8 + y % 2 * 4 + x % 4, y / 2, x / 4); });
  REQUIRE(within.size() == 2);
  CHECK(within[0] == Layout::Fold{2, 1, 2, 6, 2, 1, 0, true});
  CHECK(within[1] == Layout::Fold{3, 1, 4, 6, 4, 1, 0, true});
  // One pixel at a wrong place.
  CHECK(folds([](auto o, auto y, auto x) {
          return element(kImage, (y % 2 * 4 + x % 4) * 5 + o, y / 2, o + y + x == 0 ? 1 : x / 4);
        }).empty());
}

TEST_CASE("moves: pixels in no regular order are refused") {
  const auto parts = plan(kImage, kImage,
                          [](auto o, auto y, auto x) { return element(kImage, o, y, (y == 3 && o == 1) ? 5 - x : x); });
  REQUIRE_FALSE(parts.ok());
  CHECK(parts.errors().front().why == "its pixels are not in a regular order");
}

TEST_CASE("moves: results of too many parts are refused") {
  constexpr ImageShape kScattered{1, 1, 23, 23};
  const auto parts = plan(kScattered, kScattered,
                          [&](auto o, auto y, auto x) { return element(kScattered, o, y * y % 23, x * x % 23); });
  REQUIRE_FALSE(parts.ok());
  CHECK(parts.errors().front().why == "its copies would have more than 64 parts");
}

}  // namespace dovetail::accel
