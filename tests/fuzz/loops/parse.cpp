// Mutated program text: the parser returns a program or diagnostics; what it accepts, it can print and read again.
#include <random>
#include <string>

#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"

using namespace dovetail;
using namespace dovetail::loops;

TEST_CASE("mutated program text crashes neither the parser nor the verifier") {
  static const std::string kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "(",
                                        ")",
                                        "for ",
                                        "block ",
                                        "if ",
                                        "init {",
                                        "where ",
                                        "reads ",
                                        "call f(",
                                        " in 3",
                                        " = ",
                                        ", ",
                                        "-",
                                        "//",
                                        "cast<int8>(",
                                        "select(",
                                        "\"",
                                        "\\",
                                        "nan",
                                        "1e308",
                                        "9223372036854775807",
                                        "int32(",
                                        "+:",
                                        "#",
                                        "\n",
                                        "@",
                                        "step [1]",
                                        "free q: bool\n"};
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::string text = to_string(test::random_program(seed % 200).program);
    const std::size_t mutations = 1 + pick(4);
    for (std::size_t m = 0; m < mutations && !text.empty(); ++m) {
      const std::size_t at = pick(text.size());
      switch (pick(5)) {
        case 0: text.erase(at, 1 + pick(8)); break;
        case 1: text[at] = static_cast<char>(random()); break;
        case 2: text.insert(at, kPieces[pick(std::size(kPieces))]); break;
        case 3: text.insert(at, text.substr(pick(text.size()), pick(60))); break;
        default: text.resize(at); break;
      }
    }
    INFO("seed " << seed << "\n" << text);
    const auto parsed = parse_program(text, "fuzz");
    if (!parsed.ok()) {
      REQUIRE(!parsed.errors().empty());
      REQUIRE(!parsed.errors()[0].why.empty());
      continue;
    }
    const std::string printed = to_string(*parsed);
    const auto again = parse_program(printed, "printed");
    REQUIRE((again.ok() ? "" : to_string(again.errors()) + "\n" + printed) == "");
    REQUIRE(to_string(*again) == printed);
    if (verify(*parsed).ok()) REQUIRE(compile(*parsed).ok());
  }
}
