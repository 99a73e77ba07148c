// Copies between layouts, scheduled and compiled, compared with packing the value directly.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/processor.h"
#include "base/random.h"
#include "compiler/layout/layout.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cpu/schedule_group.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

std::int64_t below(SplitMix64& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(limit));
}

// A permutation of the dimensions, one of them possibly split by a factor that comes last.
std::string drawn_layout(SplitMix64& random, const Shape& shape) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < shape.size(); ++d) parts.push_back(fmt::format("i{}", d));
  for (std::size_t d = parts.size(); d > 1; --d)
    std::swap(parts[d - 1], parts[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(d)))]);
  const auto cut = static_cast<std::size_t>(below(random, static_cast<std::int64_t>(shape.size())));
  for (const std::int64_t factor : {16, 4})
    if (shape[cut] % factor == 0 && below(random, 2) == 0) {
      *std::ranges::find(parts, fmt::format("i{}", cut)) = fmt::format("i{}/{}", cut, factor);
      parts.push_back(fmt::format("i{}%{}", cut, factor));
      break;
    }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace

TEST_CASE("property: copies between layouts move every element, on every class of processor") {
  SplitMix64 random(20261125);
  constexpr std::int64_t kExtents[] = {1, 2, 3, 5, 16, 17, 48, 67};
  for (int i = 0; i < 60; ++i) {
    Shape shape;
    const std::int64_t rank = 2 + below(random, 3);
    for (std::int64_t d = 0; d < rank; ++d) shape.push_back(kExtents[below(random, std::size(kExtents))]);
    if (element_count(shape) > 200'000) continue;
    constexpr DType kTypes[] = {DType::float32, DType::int8, DType::float64, DType::int32};
    const DType dtype = kTypes[below(random, std::size(kTypes))];
    const std::string from = below(random, 2) == 0 ? "" : drawn_layout(random, shape), to = drawn_layout(random, shape);
    const std::vector<cpu::Cpu> runnable = [] {
      std::vector<cpu::Cpu> all(cpu::cpus().begin(), cpu::cpus().end());
      std::erase_if(all, [](const cpu::Cpu& one) { return !runs_here(one.name); });
      return all;
    }();
    const cpu::Cpu& cpu = runnable[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(runnable.size())))];
    CAPTURE(i, to_string(shape), from, to, name(dtype), cpu.name);
    NdArray value(dtype, shape);
    for (std::int64_t e = 0; e < value.count(); ++e) value.set_int64(e, dtype == DType::int8 ? e % 251 - 125 : e);
    const auto layout = [&](const std::string& text) {
      auto parsed = parse_layout(text, shape);
      REQUIRE(parsed.ok());
      return *std::move(parsed);
    };
    const loops::Program copy = cpu::schedule_copy(relayout_program({dtype, shape}, from, to), cpu);
    const auto compiled = cpu::JitProgram::make(copy, cpu::intrinsics(cpu), cpu);
    REQUIRE(compiled.ok());
    const auto result = compiled->run(std::vector{pack(value, layout(from))});
    REQUIRE(result.ok());
    CHECK(result->front() == pack(value, layout(to)));
  }
}
