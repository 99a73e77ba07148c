#include "isa/semantics/alu.h"

#include <array>
#include <cstdint>
#include <vector>

#include "tests/catch.h"

namespace dovetail::isa::semantics {

TEST_CASE("SHR is total: right by min(s, 31), left by min(-s, 31)") {
  std::vector<std::int32_t> amounts{INT32_MIN, INT32_MIN + 1, -32768, -1000, 1000, 32767, INT32_MAX};
  for (std::int32_t amount = -40; amount <= 40; ++amount) amounts.push_back(amount);
  for (std::int32_t value : {0, 1, -1, 12345, -12345, INT32_MAX, INT32_MIN, 0x55555555}) {
    for (std::int32_t amount : amounts) {
      const std::int64_t places = amount < 0 ? -std::int64_t{amount} : amount;
      std::int64_t expected = value;
      for (std::int64_t i = 0; i < (places > 31 ? 31 : places); ++i) {
        if (amount >= 0) {
          expected = (expected - (expected & 1)) / 2;
        } else {
          expected = 2 * expected;
          expected = expected > INT32_MAX   ? expected - (std::int64_t{1} << 32)
                     : expected < INT32_MIN ? expected + (std::int64_t{1} << 32)
                                            : expected;
        }
      }
      CAPTURE(value, amount);
      CHECK(shr(value, amount) == expected);
    }
  }
}

TEST_CASE("ADD and MUL wrap, MIN and MAX compare signed") {
  CHECK(alu(AluOp::add, INT32_MAX, {.source = 1}) == INT32_MIN);
  CHECK(alu(AluOp::add, INT32_MIN, {.source = -1}) == INT32_MAX);
  CHECK(alu(AluOp::mul, 0x10000, {.source = 0x10000}) == 0);
  CHECK(alu(AluOp::mul, INT32_MIN, {.source = -1}) == INT32_MIN);
  CHECK(alu(AluOp::mul, -3, {.source = 7}) == -21);
  CHECK(alu(AluOp::min, -1, {.source = 1}) == -1);
  CHECK(alu(AluOp::max, -1, {.source = 1}) == 1);
  CHECK(alu(AluOp::requant, 10, {.source = 0x3f800000, .next = 5, .imm = -1}) == 14);
  CHECK(alu(AluOp::requant8, 100, {.source = 0x3f800000, .next = 5, .imm = 22}) == 127);
  CHECK(alu(AluOp::requant8, -100, {.source = 0x3f800000, .next = -27, .imm = 0}) == -127);
  CHECK(alu(AluOp::requant8, -100, {.source = 0x3f800000, .next = -27, .imm = -2}) == -128);
}

TEST_CASE("TABLE and TABLEU read the entry of a + b, clamped to int8") {
  std::uint16_t table[256];
  for (std::size_t i = 0; i < 256; ++i) table[i] = static_cast<std::uint16_t>(0x8000 + 3 * i);
  const auto read = [&](AluOp op, std::int32_t acc, std::int32_t source) {
    return alu(op, acc, {.source = source, .table = table});
  };
  CHECK(read(AluOp::tableu, -128, 0) == 0x8000);
  CHECK(read(AluOp::table, -128, 0) == -0x8000);
  CHECK(read(AluOp::table, -1000, 871) == -0x8000);
  CHECK(read(AluOp::tableu, 0, -1) == 0x8000 + 3 * 127);
  CHECK(read(AluOp::tableu, 100, 27) == 0x8000 + 3 * 255);
  CHECK(read(AluOp::tableu, 100, 28) == 0x8000 + 3 * 255);
  CHECK(read(AluOp::table, INT32_MIN, 5) == -0x8000);
  CHECK(read(AluOp::table, INT32_MAX, 0) == -0x8000 + 3 * 255);
  CHECK(read(AluOp::table, INT32_MAX, 1) == -0x8000);  // the sum wraps
  table[135] = 0x1234;
  CHECK(read(AluOp::table, 10, -3) == 0x1234);
  CHECK(read(AluOp::tableu, 10, -3) == 0x1234);
}

namespace {

// Values that are interesting as numbers, amounts and scales.
constexpr std::int32_t kSamples[] = {0, 1, -1, 2, 31, -31, 1000, -1000, INT32_MAX, INT32_MIN, 0x3f800000, 0x40490fdb};

constexpr auto kTable = [] {
  std::array<std::uint16_t, spec::kTableEntries> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint16_t>(257 * i);
  return table;
}();

}  // namespace

TEST_CASE("an operation commutes where its row says so") {
  for (const spec::AluOpInfo& row : spec::kAluOps) {
    bool commutes = true;
    for (const std::int32_t a : kSamples)
      for (const std::int32_t b : kSamples)
        commutes &= alu(row.op, a, {.source = b, .table = kTable.data(), .row = {&a, 1}}) ==
                    alu(row.op, b, {.source = a, .table = kTable.data(), .row = {&b, 1}});
    CAPTURE(row.name);
    CHECK(commutes == row.commutes);
  }
}

TEST_CASE("an operation depends on the number of elements, and on the immediate, as its row says") {
  for (const spec::AluOpInfo& row : spec::kAluOps) {
    bool source = false, next = false, imm = false;
    for (const std::int32_t a : kSamples)
      for (const std::int32_t b : kSamples)
        for (const std::int32_t changed : kSamples) {
          const auto apply = [&](AluOperands operands) {
            operands.table = kTable.data();
            operands.row = {&a, 1};
            return alu(row.op, a, operands);
          };
          const std::int32_t value = apply({.source = b});
          source |= apply({.source = changed}) != value;
          next |= apply({.source = b, .next = changed}) != value;
          imm |= apply({.source = b, .imm = changed}) != value;
        }
    CAPTURE(row.name);
    CHECK(source == (row.source_elements > 0));
    CHECK(next == (row.source_elements > 1));
    CHECK(imm == (!spec::takes_immediate(row.op) && !row.immediate.doc.empty()));
  }
}

}  // namespace dovetail::isa::semantics
