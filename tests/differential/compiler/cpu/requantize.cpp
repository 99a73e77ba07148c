// Every form in which the CPU requantizes, chosen by the proven ranges of accumulator and scale, has the interpreter's
// bits: for products that are ties, next to ties, and at the ends of the ranges.
#include <algorithm>
#include <cmath>

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

constexpr std::int64_t kCount = 4096;

struct Way {
  const char* name;
  std::int64_t acc;   // clamp of the accumulator
  const char* scale;  // clamp of the scale, or a literal
  double largest;     // the largest scale to try
};

std::string program_of(const Way& way) {
  const std::string scale = fmt::format(fmt::runtime(way.scale), "s[v]");
  return fmt::format(R"(program requantize {{
    input a: int32[{0}]
    input s: float32[{0}]
    output y: int32[{0}]
    for o in {1} {{
      for l in 16 vectorized {{
        block requantize {{
          spatial v in {0} = o * 16 + l
          reads a[v], s[v]
          writes y[v]
          y[v] = requantize(min(max(a[v], {2}), {3}), {4}, -7)
        }}
      }}
    }}
  }})",
                     kCount, kCount / 16, -way.acc, way.acc, scale);
}

void check_bits(const loops::Program& program, const std::vector<NdArray>& arguments) {
  const auto expected = loops::evaluate(program, arguments);
  REQUIRE(expected.ok());
  for (const cpu::Cpu& processor : cpu::cpus()) {
    if (!runs_here(processor.name)) continue;
    INFO(processor.name);
    const auto code = cpu::JitProgram::make(program, {}, processor);
    REQUIRE(code.ok());
    const auto found = code->run(arguments);
    REQUIRE(found.ok());
    for (std::int64_t i = 0; i < kCount; ++i)
      if ((*found)[0].as_int64(i) != (*expected)[0].as_int64(i))
        FAIL(fmt::format("{} * {}: {}, expected {}", arguments[0].as_int64(i), arguments[1].as_double(i),
                         (*found)[0].as_int64(i), (*expected)[0].as_int64(i)));
  }
}

}  // namespace

TEST_CASE("requantization is exact in binary32, in binary64 and in integers") {
  const Way ways[] = {{"binary32", 1 << 24, "min(max({}, -0.125), 0.125)", 0.125},
                      {"binary32, at the end of its range", 1 << 21, "min(max({}, -1.0), 1.0)", 1.0},
                      {"binary64", (1 << 29) - 1, "min(max({}, -2.0), 2.0)", 2.0},
                      {"binary64, clamped", (1 << 29) - 1, "{}", 1e12},
                      {"binary64, fused", 2147483647, "min(max({}, -0.5), 0.5)", 0.5},
                      {"integers", 2147483647, "{}", 4.0},
                      {"a literal in two parts", 255, "46341.375", 1.0}};
  for (const Way& way : ways) {
    INFO(way.name);
    const auto program = loops::parse_program(program_of(way), "requantize");
    if (!program.ok()) FAIL(to_string(program.errors()));
    SplitMix64 random(3);
    std::vector<NdArray> arguments{NdArray(DType::int32, {kCount}), NdArray(DType::float32, {kCount})};
    for (std::int64_t i = 0; i < kCount; ++i) {
      // A scale and an accumulator whose product is n + 0.5 or next to it; every eighth is a power of two, for ties.
      const double fraction = i % 8 == 0 ? 0.5 : 0.5 + static_cast<double>(random.next() % (1 << 23)) / (1 << 24);
      const auto scale = static_cast<float>(std::ldexp(way.largest * fraction, -static_cast<int>(random.next() % 14)));
      const double half = static_cast<double>(random.next() % 4096) - 2048 + 0.5;
      const std::int64_t near = static_cast<std::int64_t>(half / static_cast<double>(scale));
      const std::int64_t offset = static_cast<std::int64_t>(random.next() % 3) - 1;
      const std::int64_t any =
          static_cast<std::int64_t>(random.next() % (2 * static_cast<std::uint64_t>(way.acc))) - way.acc;
      const std::int64_t end = random.next() % 2 == 0 ? way.acc : -way.acc;
      const std::int64_t acc = i % 16 == 5 ? end : i % 16 == 8 ? any : near + offset;
      arguments[0].set_int64(i, std::clamp(acc, -way.acc, way.acc));
      arguments[1].set_double(i, static_cast<double>(i % 3 == 0 ? -scale : scale));
    }
    check_bits(*program, arguments);
  }
}

TEST_CASE("requantization by a literal is exact for each accumulator of nine bits, and by a power of two at all ties") {
  constexpr std::int64_t kMost = 255;
  SplitMix64 random(11);
  std::vector<std::string> scales{"16384.5", "32767.5",  "32768.5",    "65535.5",
                                  "65536.5", "-98304.5", "4194303.75", "8421504.0"};
  for (int i = 0; i < 24; ++i)  // mantissas of 24 bits: each exponent leaves some fraction bits
    scales.push_back(fmt::format(
        "{:.8f}", std::ldexp(1.0 + static_cast<double>(random.next() % (1 << 23)) / (1 << 23), 8 + i % 15)));
  for (const std::string& scale : scales) {
    INFO(scale);
    const auto program = loops::parse_program(program_of({"", kMost, scale.c_str(), 0}), "requantize");
    if (!program.ok()) FAIL(to_string(program.errors()));
    std::vector<NdArray> arguments{NdArray(DType::int32, {kCount}), NdArray(DType::float32, {kCount})};
    for (std::int64_t i = 0; i < kCount; ++i) arguments[0].set_int64(i, i % (2 * kMost + 1) - kMost);
    check_bits(*program, arguments);
  }
  for (const int shift : {1, 2, 8, 16, 24, 29, 30}) {
    INFO(shift);
    const std::int64_t most = (std::int64_t{1} << 30) + (shift < 30 ? 1 << 28 : -1),
                       half = std::int64_t{1} << (shift - 1);
    const auto program = loops::parse_program(
        program_of({"", most, fmt::format("{:.32f}", std::ldexp(1.0, -shift)).c_str(), 0}), "requantize");
    if (!program.ok()) FAIL(to_string(program.errors()));
    std::vector<NdArray> arguments{NdArray(DType::int32, {kCount}), NdArray(DType::float32, {kCount})};
    for (std::int64_t i = 0; i < kCount; ++i) {
      const std::int64_t ties = most / (2 * half),
                         tie = (2 * (i / 3 % std::max<std::int64_t>(ties, 1)) + 1) * half + i % 3 - 1;
      arguments[0].set_int64(i, i == 0 ? most : i == 1 ? -most : std::clamp(i % 2 == 0 ? tie : -tie, -most, most));
    }
    check_bits(*program, arguments);
  }
}
