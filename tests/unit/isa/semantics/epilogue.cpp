#include "isa/semantics/epilogue.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "tests/catch.h"

namespace dovetail::isa::semantics {

namespace {

constexpr std::size_t kRow = 16;

// Parameters of two lanes.
std::vector<std::int8_t> parameters(std::int32_t bias, float scale, std::int8_t zero_point, std::int8_t least,
                                    std::int8_t most) {
  std::vector<std::int8_t> rows(2 * kRow, 77);  // bytes between are free
  put_lane(std::span(rows).first(kRow), 12345, std::bit_cast<std::uint32_t>(1e6f));
  put_lane(std::span(rows).last(kRow), bias, std::bit_cast<std::uint32_t>(scale));
  rows[13] = zero_point;
  rows[14] = least;
  rows[15] = most;
  return rows;
}

}  // namespace

TEST_CASE("epilogue: a lane has its bias and scale, and all lanes share the rest") {
  const auto rows = parameters(-3, 0.5f, 10, -100, 100);
  CHECK(epilogue(8, 1, rows, kRow, nullptr) == 12);   // 2.5 to even, and 10
  CHECK(epilogue(10, 1, rows, kRow, nullptr) == 14);  // 3.5 to even, and 10
  CHECK(epilogue(1000, 1, rows, kRow, nullptr) == 100);
  CHECK(epilogue(-1000, 1, rows, kRow, nullptr) == -100);
  CHECK(epilogue(0, 0, rows, kRow, nullptr) == 100);
}

TEST_CASE("epilogue: parameters are little-endian, with all bits") {
  std::vector<std::int8_t> row(kRow);
  put_lane(row, INT32_MIN + 0x020304, 0x8090a0b0u);
  const auto low = [](int value) { return static_cast<std::int8_t>(value); };
  CHECK(
      std::vector<std::int8_t>(row.begin(), row.begin() + 8) ==
      std::vector<std::int8_t>{low(0x04), low(0x03), low(0x02), low(0x80), low(0xb0), low(0xa0), low(0x90), low(0x80)});
  CHECK(word_at(row, kBiasAt) == 0x80020304u);
  CHECK(word_at(row, kScaleAt) == 0x8090a0b0u);
}

TEST_CASE("epilogue: the upper bound holds if the bounds contradict each other") {
  const auto rows = parameters(0, 1.0f, 0, 50, -50);
  for (const std::int32_t sum : {-1000, 0, 1000}) CHECK(epilogue(sum, 1, rows, kRow, nullptr) == -50);
}

TEST_CASE("epilogue: the table is indexed by the bounded result") {
  std::array<std::uint16_t, 256> table{};
  table[128 + 20] = 0x1234;   // the low byte
  table[128 - 100] = 0xfffe;  // of the lower bound
  const auto rows = parameters(0, 1.0f, 5, -100, 100);
  CHECK(epilogue(15, 1, rows, kRow, table.data()) == 0x34);
  CHECK(epilogue(-500, 1, rows, kRow, table.data()) == -2);
  CHECK(epilogue(0, 1, rows, kRow, table.data()) == 0);
}

TEST_CASE("epilogue: the micro-op of the parameters says whether results are looked up") {
  CHECK_FALSE(looks_up({.dst = 0, .src = 1, .wgt = 1}));
  CHECK(looks_up({.dst = 1, .src = 0, .wgt = 0}));
  CHECK_FALSE(looks_up({.dst = 2, .src = 0, .wgt = 0}));
}

}  // namespace dovetail::isa::semantics
