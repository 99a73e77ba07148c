// Constant expressions of the assembly language.
#include <random>

#include "tests/unit/isa/text/assembly.h"

using namespace dovetail;
using namespace dovetail::isa;
using namespace dovetail::isa::test;

namespace {

std::int64_t value_of(const std::string& expression) {
  return static_cast<std::int64_t>(assembled(".equ it (" + expression + ")").symbols.at(0).value);
}
std::string error_of(const std::string& expression) {
  const Texts errors = errors_of(".equ it (" + expression + ")");
  REQUIRE(errors.size() == 1);
  return errors[0];
}

}  // namespace

TEST_CASE("expressions have the precedence and the values of C") {
  CHECK(value_of("1+2*3") == 7);
  CHECK(value_of("(1+2)*3") == 9);
  CHECK(value_of("10-4-3") == 3);
  CHECK(value_of("100/7/2") == 7);
  CHECK(value_of("-7/2") == -3);
  CHECK(value_of("-7%2") == -1);
  CHECK(value_of("1<<4+1") == 32);
  CHECK(value_of("0xf0>>4&3|8^1") == ((0xf0 >> 4 & 3) | (8 ^ 1)));
  CHECK(value_of("~0") == -1);
  CHECK(value_of("- - 5") == 5);
  CHECK(value_of("-16>>2") == -4);
  CHECK(value_of("min(3, 2+2) + max(-1,-2)") == 2);
  CHECK(value_of("ceildiv(17,16)*16") == 32);
  CHECK(value_of("ceildiv(-17,16)") == -1);
  CHECK(value_of("align(0x1001,64)") == 0x1040);
  CHECK(value_of("align(-1,4)") == 0);
  CHECK(value_of("1_000") == 1000);
  CHECK(value_of("0x7fff_ffff_ffff_ffff") == INT64_MAX);
  CHECK(value_of("-0x7fffffffffffffff-1") == INT64_MIN);
}

TEST_CASE("random expressions agree with the compiler's arithmetic") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    // a op b op c, with the brackets that precedence implies
    const std::int64_t a = static_cast<std::int64_t>(random() % 2000) - 1000,
                       b = static_cast<std::int64_t>(random() % 2000) - 1000,
                       c = static_cast<std::int64_t>(random() % 1000) + 1;
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    CHECK(value_of(text(a) + "+" + text(b) + "*" + text(c)) == a + b * c);
    CHECK(value_of(text(a) + "-" + text(b) + "/" + text(c)) == a - b / c);
    CHECK(value_of(text(a) + "%" + text(c) + "|" + text(b)) == ((a % c) | b));
    CHECK(value_of(text(a) + "&" + text(b) + "^" + text(c)) == ((a & b) ^ c));
    const std::int64_t up = value_of("align(" + text(a) + "," + text(c) + ")");
    CHECK((up % c == 0 && up >= a && up - a < c));
  }
}

TEST_CASE("an expression without a value is reported") {
  CHECK_THAT(error_of("1/0"), Catch::Matchers::ContainsSubstring("divides by 0"));
  CHECK_THAT(error_of("1%(2-2)"), Catch::Matchers::ContainsSubstring("divides by 0"));
  CHECK_THAT(error_of("1<<64"), Catch::Matchers::ContainsSubstring("the shift is by 64 bits"));
  CHECK_THAT(error_of("1<<63"), Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("0x7fffffffffffffff+1"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("0x4000000000000000*2"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("0xffffffffffffffff"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("align(0x7fffffffffffffff,2)"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("(-0x7fffffffffffffff-1)/-1"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("-(-0x7fffffffffffffff-1)"),
             Catch::Matchers::ContainsSubstring("does not fit in a signed 64-bit integer"));
  CHECK_THAT(error_of("align(3,0)"), Catch::Matchers::ContainsSubstring("the second value of `align` is 0"));
  CHECK_THAT(error_of("min(3)"), Catch::Matchers::ContainsSubstring("`min` needs two values"));
  CHECK_THAT(error_of("log(3)"), Catch::Matchers::ContainsSubstring("there is no function `log`"));
  CHECK_THAT(error_of("3 4"), Catch::Matchers::ContainsSubstring("unexpected `4`"));
  CHECK_THAT(error_of("3+"), Catch::Matchers::ContainsSubstring("unexpected `)`"));
  CHECK_THAT(error_of("12ab"), Catch::Matchers::ContainsSubstring("`12ab` is not a number"));
  CHECK_THAT(error_of("\\n+1"), Catch::Matchers::ContainsSubstring("`\\n` is not a parameter in this line"));
  CHECK_THAT(error_of(std::string(100, '(') + "1" + std::string(100, ')')),
             Catch::Matchers::ContainsSubstring("nest deeper than 64"));
  CHECK_THAT(error_of(std::string(100000, '-') + "1"), Catch::Matchers::ContainsSubstring("nest deeper than 64"));
  CHECK(errors_of(".equ a (1+2") == Texts{"k.s:1:12: `(1+2` has an opening bracket that is not closed. add a `)`"});
  CHECK(errors_of(".equ a 1+").at(0) ==
        "k.s:1:10: `1+` ends where a number or a name is expected. complete it; blanks end an expression outside of "
        "brackets");
}

TEST_CASE("a long sum does not need deep recursion") {
  std::string sum = "0";
  for (int i = 0; i < 10000; ++i) sum += "+1";
  CHECK(value_of(sum) == 10000);
}

TEST_CASE("the configuration's numbers have names, which may not be redefined") {
  const Assembly assembly = assembled(
      ".config 4x8x8\n.equ a block_in*batch\n.equ b wgt.bytes\n.equ c acc.depth\n.equ d token_queue_depth\n.equ e "
      "uop.bytes");
  const HardwareConfig config = *load_config("4x8x8");
  CHECK(assembly.symbols[0].value == 32);
  CHECK(assembly.symbols[1].value == 64);
  CHECK(assembly.symbols[2].value == static_cast<std::uint64_t>(config.depth(Memory::acc)));
  CHECK(assembly.symbols[3].value == static_cast<std::uint64_t>(config.token_queue_depth));
  CHECK(assembly.symbols[4].value == static_cast<std::uint64_t>(config.uop_bytes()));
  CHECK(errors_of(".equ batch 4") == Texts{"k.s:1:6: `batch` belongs to the configuration. choose another name"});
  CHECK(errors_of(".space inp.bytes 4") ==
        Texts{"k.s:1:8: `inp.bytes` belongs to the configuration. choose another name"});
  CHECK(errors_of("block_in: finish").size() == 1);
  CHECK(errors_of(".equ a block_in\n.config 4x8x8") ==
        Texts{"k.s:2:1: `.config` follows a line that depends on it. move it to the beginning of the file"});
}
