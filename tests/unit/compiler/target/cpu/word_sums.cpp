// Integer sums of products of words (Emitter::emit_word_sum), and their bounds by type (codegen/sum_bounds.h).
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/codegen/sum_bounds.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

// Nine products of `lanes` channels each, from a start that is clamped to 1000.
std::string window(std::string_view x, std::string_view factor, int lanes = 16) {
  return fmt::format(R"(program window {{
    input x: {0}[9, {2}]
    constant w: int8[9, {2}]
    constant bias: int32[{2}]
    output y: int32[{2}]
    alloc s: int32[{2}]
    for j in {2} vectorized {{
      block start {{
        spatial c in {2} = j
        reads bias[c]
        writes s[c]
        s[c] = min(max(bias[c], -1000), 1000)
      }}
    }}
    for k in 9 unrolled {{
      for j in {2} vectorized {{
        block sum {{
          spatial c in {2} = j
          reduce t in 9 = k
          reads s[c], x[t, c], w[t, c]
          writes s[c]
          s[c] = s[c] + {1} * int32(w[t, c])
        }}
      }}
    }}
    for j in {2} vectorized {{
      block result {{
        spatial c in {2} = j
        reads s[c]
        writes y[c]
        y[c] = s[c]
      }}
    }}
  }})",
                     x, factor, lanes);
}

loops::Program parsed(const std::string& text) {
  auto program = loops::parse_program(text, "window");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *std::move(program);
}

int word_sums(const std::string& text, std::string_view processor) {
  const auto ir = cpu::kernel_ir(parsed(text), {}, "k", *cpu::find_cpu(processor));
  REQUIRE((ir.ok() ? "" : to_string(ir.errors())) == "");
  const std::string emitted = ir->substr(0, ir->find("; after LLVM's passes"));
  int count = 0;
  for (std::size_t at = 0; (at = emitted.find("= call <", at)) != std::string::npos; ++at)
    if (emitted.substr(at, emitted.find('\n', at) - at).find(".vpdpwssd.") != std::string::npos) ++count;
  return count;
}

constexpr const char *kByte = "int32(x[t, c])", *kLessZero = "(int32(x[t, c]) - -128)";

}  // namespace

TEST_CASE("cpu: products of bytes in lanes are added in one instruction with VNNI") {
  CHECK(word_sums(window("int8", kByte), "avx512-vnni") == 9);
  CHECK(word_sums(window("int8", kLessZero), "avx512-vnni") == 9);
  CHECK(word_sums(window("int16", kByte), "avx512-vnni") == 9);
  CHECK(word_sums(window("int8", kByte, 8), "avx512-vnni") == 9);
  CHECK(word_sums(window("int8", kByte, 8), "avx2-vnni") == 9);
}

TEST_CASE("cpu: no word sums of products that may exceed words, in broken vectors, or without VNNI") {
  CHECK(word_sums(window("uint16", kByte), "avx512-vnni") == 0);
  CHECK(word_sums(window("int16", "(int32(x[t, c]) - 1)"), "avx512-vnni") == 0);
  CHECK(word_sums(window("int8", kByte, 12), "avx512-vnni") == 0);
  CHECK(word_sums(window("int8", kByte), "avx2-vnni") == 0);
  CHECK(word_sums(window("int8", kByte), "avx512") == 0);
}

TEST_CASE("cpu: types bound a sum by its start and all addends of an element") {
  const auto bounds = [](std::string_view x, std::string_view factor) {
    return cpu::sum_bounds(parsed(window(x, factor)));
  };
  CHECK(bounds("int8", kByte).at("s") == 1000 + 9 * 128 * 128);
  CHECK(bounds("int8", kLessZero).at("s") == 1000 + 9 * 255 * 128);
  CHECK(bounds("int16", kByte).at("s") == 1000 + 9 * 32768 * 128);
  CHECK(bounds("int32", kByte).empty());
}
