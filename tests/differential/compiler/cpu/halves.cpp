// float16 and bfloat16 as machine code have the interpreter's bits: every operation, every conversion, all values; in
// lanes, one by one, and under a mask.
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/processor.h"
#include "base/random.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

constexpr std::int64_t kValues = 65536;

// z[v] = `expression` of a[v] and b[v]; with a partial last vector, or one by one.
loops::Program halves_program(std::string_view a, std::string_view b, std::string_view z, std::string_view expression,
                              bool lanes) {
  const std::string text =
      fmt::format(R"(program halves {{
    input a: {1}[{0}]
    input b: {2}[{0}]
    output z: {3}[{0}]
    for o in {4} {{
      for l in {5}{6} {{
        block halves {{
          spatial v in {0} = o * {5} + l
          where o * {5} + l < {0}
          reads a[v], b[v]
          writes z[v]
          z[v] = {7}
        }}
      }}
    }}
  }})",
                  kValues, a, b, z, (kValues + 23) / 24, 24, lanes ? " vectorized" : "", expression);
  auto program = loops::parse_program(text, "halves");
  if (!program.ok()) FAIL(to_string(program.errors()));
  return *std::move(program);
}

// Equal bits, except that all NaNs are equal.
void hold_bits(const NdArray& found, const NdArray& expected, std::span<const NdArray> arguments) {
  REQUIRE(found.dtype() == expected.dtype());
  const std::size_t size = size_bytes(found.dtype());
  for (std::int64_t i = 0; i < found.count(); ++i) {
    if (is_floating(found.dtype()) && std::isnan(found.as_double(i)) && std::isnan(expected.as_double(i))) continue;
    const auto at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(found.bytes().data() + at, expected.bytes().data() + at, size) != 0)
      FAIL(fmt::format("of {} and {}: {}, expected {}", arguments[0].as_double(i), arguments[1].as_double(i),
                       found.as_double(i), expected.as_double(i)));
  }
}

void hold_halves(const loops::Program& program, std::span<const NdArray> arguments) {
  const auto expected = loops::evaluate(program, arguments);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  int width = 0;
  for (const cpu::Cpu& processor : cpu::cpus()) {
    // Larger classes of the same width add nothing for halves.
    if (!runs_here(processor.name) || processor.vector_bytes == std::exchange(width, processor.vector_bytes)) continue;
    INFO(processor.name);
    const auto code = cpu::JitProgram::make(program, {}, processor);
    REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
    const auto found = code->run(arguments);
    REQUIRE(found.ok());
    hold_bits((*found)[0], (*expected)[0], arguments);
  }
}

// Every value once.
NdArray all_values(DType dtype) {
  NdArray array(dtype, {kValues});
  for (std::int64_t i = 0; i < kValues; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(array.bytes().data() + 2 * i, &bits, sizeof bits);
  }
  return array;
}

// Half of them near the first operand, where sums cancel; the others random.
NdArray partners(DType dtype, SplitMix64& random) {
  NdArray array(dtype, {kValues});
  for (std::int64_t i = 0; i < kValues; ++i) {
    const std::uint64_t drawn = random.next();
    auto bits = static_cast<std::uint16_t>(drawn);
    if (drawn >> 63 != 0) bits = static_cast<std::uint16_t>((i ^ (drawn >> 32 & 0x8000)) + (drawn >> 20) % 64 - 32);
    std::memcpy(array.bytes().data() + 2 * i, &bits, sizeof bits);
  }
  return array;
}

// Values to convert to a half: midpoints of two halves, values next to them, at the ends of the range and beyond.
NdArray near_halves(DType from, DType half, SplitMix64& random) {
  NdArray array(from, {kValues});
  const NdArray values = all_values(half);
  for (std::int64_t i = 0; i < kValues; ++i) {
    const double low = values.as_double(i), high = values.as_double((i + 1) % kValues);
    double value = random.next() % 2 == 0 ? low / 2 + high / 2 : low;
    if (!std::isfinite(value)) value = low;
    const int steps = static_cast<int>(random.next() % 5) - 2;
    if (is_floating(from)) {
      for (int step = 0; step < std::abs(steps); ++step) {
        const double end =
            steps < 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
        value = from == DType::float32
                    ? static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(end)))
                    : std::nextafter(value, end);
      }
      array.set_double(i, value);
    } else {
      // Integers of any length, with few bits set and with many.
      const int length = static_cast<int>(random.next() % (8 * size_bytes(from)));
      std::uint64_t bits = random.next() & (random.next() | (random.next() % 2 == 0 ? 0 : ~0ULL));
      bits = bits >> (63 - length);
      if (random.next() % 2 == 0)
        bits = (1ULL << length) | (1ULL << (random.next() % static_cast<std::uint64_t>(length + 1)));
      array.set_int64(i, random.next() % 2 == 0 ? static_cast<std::int64_t>(bits) : -static_cast<std::int64_t>(bits));
    }
  }
  return array;
}

constexpr DType kHalves[] = {DType::float16, DType::bfloat16};

}  // namespace

TEST_CASE("halves: operations as machine code have the interpreter's bits") {
  // Of functions that round their value to the type, those that the processor computes exactly and rounds once.
  const char* const expressions[] = {"a[v] + b[v]",
                                     "a[v] - b[v]",
                                     "a[v] * b[v]",
                                     "a[v] / b[v]",
                                     "min(a[v], b[v])",
                                     "max(a[v], b[v])",
                                     "a[v] // b[v]",
                                     "a[v] % b[v]",
                                     "mod(a[v], b[v])",
                                     "sqrt(abs(a[v]))",
                                     "-a[v]",
                                     "floor(a[v])",
                                     "ceil(a[v])",
                                     "trunc(a[v])",
                                     "round_even(a[v])",
                                     "sign(a[v])",
                                     "a[v] * b[v] + a[v]",
                                     "(a[v] + b[v]) * b[v]",
                                     "select(a[v] < b[v], a[v] - b[v], b[v] * b[v])"};
  SplitMix64 random(11);
  for (const DType half : kHalves) {
    const std::string type(name(half));
    const std::vector<NdArray> arguments{all_values(half), partners(half, random)};
    for (const char* expression : expressions)
      for (const bool lanes : {true, false}) {
        INFO(type << " " << expression << (lanes ? ", in lanes" : ""));
        hold_halves(halves_program(type, type, type, expression, lanes), arguments);
      }
  }
}

TEST_CASE("halves: conversions as machine code have the interpreter's bits") {
  SplitMix64 random(12);
  for (const DType half : kHalves) {
    const std::string type(name(half));
    for (const DType other :
         {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::int8, DType::uint8, DType::int16,
          DType::int32, DType::uint32, DType::int64, DType::uint64, DType::boolean}) {
      const std::string other_type(name(other));
      const std::vector<NdArray> values{all_values(half), all_values(half)};
      std::vector<NdArray> near{NdArray(other, {kValues}), NdArray(other, {kValues})};
      if (other == DType::float16 || other == DType::bfloat16) near[0] = all_values(other);
      else if (other == DType::boolean)
        for (std::int64_t i = 0; i < kValues; ++i) near[0].set_int64(i, i % 2);
      else near[0] = near_halves(other, half, random);
      for (const bool lanes : {true, false}) {
        INFO(type << " and " << other_type << (lanes ? ", in lanes" : ""));
        hold_halves(halves_program(type, type, other_type, other_type + "(a[v])", lanes), values);
        hold_halves(halves_program(other_type, other_type, type, type + "(a[v])", lanes), near);
      }
    }
  }
}
