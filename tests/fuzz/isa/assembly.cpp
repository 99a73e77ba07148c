// Assembly: what is read prints as what reads as the same.
#include "isa/text.h"
#include "tests/fuzz/target.h"
#include "tests/unit/isa/random_instruction.h"

namespace dovetail::test {
namespace {

using namespace isa;

std::vector<FuzzSeed> seeds() {
  std::vector<FuzzSeed> list;
  isa::test::Random random(6);
  for (const HardwareConfig& config : named_configs()) {
    std::vector<Instruction> program;
    for (int i = 0; i < 8; ++i) program.push_back(isa::test::random_instruction(random, config));
    list.push_back({config.name + ".s", bytes_of(format_assembly({config, program, {{1, 2, 3}}}))});
  }
  return list;
}

std::string take(std::span<const std::byte> bytes) {
  const auto read = parse_assembly(text_of(bytes), "fuzz.s");
  if (!read) return speechless(read.errors());
  const auto again = parse_assembly(format_assembly(*read), "again.s");
  if (!again) return "printed, it is refused: " + to_string(again.errors());
  if (again->program != read->program || again->uops != read->uops) return "printed, it is another program";
  return config_to_json(again->config) == config_to_json(read->config) ? "" : "printed, it is of other hardware";
}

}  // namespace

FuzzTarget assembly_target() { return {seeds, take}; }

}  // namespace dovetail::test
