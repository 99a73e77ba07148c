// Texts of loop programs: printing and parsing gives the same program, and a program that verifies compiles.
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/fuzz/target.h"
#include "tests/generator_loops/random_program.h"

namespace dovetail::test {
namespace {

std::vector<FuzzSeed> seeds() {
  std::vector<FuzzSeed> list;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    list.push_back(
        {"random" + std::to_string(seed) + ".loops", bytes_of(to_string(loops::test::random_program(seed).program))});
  return list;
}

std::string take(std::span<const std::byte> bytes) {
  const auto program = loops::parse_program(text_of(bytes), "fuzz");
  if (!program) return incomplete_diagnostic(program.errors());
  const std::string printed = to_string(*program);
  const auto again = loops::parse_program(printed, "printed");
  if (!again) return "printed, it is refused: " + to_string(again.errors()) + "\n" + printed;
  if (to_string(*again) != printed) return "printed, it is another program";
  const auto verified = loops::verify(*program);
  if (!verified) return incomplete_diagnostic(verified.errors());
  return loops::compile(*program) ? "" : "it verifies, and does not compile";
}

}  // namespace

FuzzTarget loops_target() { return {seeds, take}; }

}  // namespace dovetail::test
