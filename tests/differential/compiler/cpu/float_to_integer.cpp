// Conversions of floats to integers, in lanes and one by one, as machine code and on the interpreter: NaN, infinities,
// and values at and beyond the ends of the integers' ranges.
#include <array>
#include <cmath>
#include <limits>

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

constexpr std::int64_t kFloats = 1000;

loops::Program conversion(DType from, DType to, bool lanes) {
  auto program =
      loops::parse_program(fmt::format(R"(program conversion {{
    input a: {1}[{0}]
    output z: {2}[{0}]
    for o in {3} {{
      for l in 16{4} {{
        block conversion {{
          spatial v in {0} = o * 16 + l
          where o * 16 + l < {0}
          reads a[v]
          writes z[v]
          z[v] = {2}(a[v])
        }}
      }}
    }}
  }})",
                                       kFloats, name(from), name(to), (kFloats + 15) / 16, lanes ? " vectorized" : ""),
                           "conversion");
  if (!program.ok()) FAIL(to_string(program.errors()));
  return *std::move(program);
}

// NaN, infinities, and powers of two with their neighbors and the values a half and a quarter away; then random values.
NdArray floats_of(DType from) {
  NdArray values(from, {kFloats});
  SplitMix64 random(7);
  std::int64_t i = 0;
  const auto add = [&](double value) {
    if (i < kFloats) values.set_double(i++, value);
  };
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -0.0, 0.5, -0.5})
    add(value), add(-value);
  for (const int power : {7, 8, 15, 16, 31, 32, 63, 64})
    for (const double sign : {1.0, -1.0}) {
      const double end = sign * std::exp2(power);
      for (const double off : {0.0, 0.25, 0.5, 1.0, 1.5, 2.0}) add(end + off), add(end - off);
      add(static_cast<double>(std::nextafter(static_cast<float>(end), 0.0F)));
      add(std::nextafter(end, 0.0));
    }
  while (i < kFloats) {
    const double fraction = static_cast<double>(random.next() % (1 << 24)) / (1 << 24) - 0.5;
    add(std::ldexp(fraction, static_cast<int>(random.next() % 70)));
  }
  return values;
}

}  // namespace

TEST_CASE("floats become integers in machine code as in the interpreter, including NaN and values out of range") {
  constexpr std::array kIntegers{DType::int8,  DType::uint8,  DType::int16, DType::uint16,
                                 DType::int32, DType::uint32, DType::int64, DType::uint64};
  for (const DType from : {DType::float32, DType::float64, DType::float16})
    for (const DType to : kIntegers)
      for (const bool lanes : {true, false}) {
        INFO(name(from) << " to " << name(to) << (lanes ? ", in lanes" : ""));
        const loops::Program program = conversion(from, to, lanes);
        const std::vector<NdArray> arguments{floats_of(from)};
        const auto expected = loops::evaluate(program, arguments);
        REQUIRE(expected.ok());
        for (const cpu::Cpu& processor : cpu::cpus()) {
          if (!runs_here(processor.name)) continue;
          INFO(processor.name);
          const auto code = cpu::JitProgram::make(program, {}, processor);
          REQUIRE(code.ok());
          const auto found = code->run(arguments);
          REQUIRE(found.ok());
          for (std::int64_t i = 0; i < kFloats; ++i)
            if ((*found)[0].as_int64(i) != (*expected)[0].as_int64(i))
              FAIL(fmt::format("{}: {}, expected {}", arguments[0].as_double(i), (*found)[0].as_int64(i),
                               (*expected)[0].as_int64(i)));
        }
      }
}
