// Instruction streams. The first byte chooses the hardware; the others are the program, and the memory whose micro-ops
// it loads.
#include <algorithm>

#include "isa/codec.h"
#include "isa/legal.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "tests/fuzz/target.h"
#include "tests/unit/isa/random_instruction.h"

namespace dovetail::test {
namespace {

using namespace isa;

// With more instructions the fuzzer only finds the verifier's run time, which is near-linear in the touched elements.
constexpr std::size_t kMostInstructions = 64;

std::vector<FuzzSeed> program_seeds() {
  std::vector<FuzzSeed> list;
  isa::test::Random random(5);
  for (std::size_t i = 0; i < named_configs().size(); ++i) {
    const HardwareConfig& config = named_configs()[i];
    const Codec codec(config);
    Bytes bytes{static_cast<std::byte>(i)};
    for (int k = 0; k < 12; ++k) {
      Bytes one;
      if (codec.encode(isa::test::random_instruction(random, config), one))
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    list.push_back({config.name + ".bin", bytes});
  }
  return list;
}

std::string take_program(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "";
  const HardwareConfig& config = named_configs()[static_cast<std::size_t>(bytes[0]) % named_configs().size()];
  const Codec codec(config);
  const auto program = codec.decode_program(bytes.subspan(1), "fuzz.bin");
  if (!program) return incomplete_diagnostic(program.errors());
  const auto encoded = codec.encode_program(*program);
  if (!encoded || !std::ranges::equal(*encoded, bytes.subspan(1))) return "decoded, it encodes to something else";
  const LegalityRules rules(config);
  for (const Instruction& instruction : *program)
    if (rules.is_legal(instruction) != rules.check(instruction).empty()) return "legal, and with a finding";
  const auto again = parse_assembly(format_assembly(config, *program), "fuzz.s");
  if (!again) return "its own assembly is refused: " + to_string(again.errors());
  if (again->program != *program) return "its assembly is another program";
  if (program->size() > kMostInstructions) return "";
  for (const bool known : {false, true}) {
    VerifyOptions options;
    if (known) options.dram = DramImage{0, bytes};
    for (const Finding& finding : verify(config, *program, options).findings) {
      if (finding.instruction >= program->size()) return "a finding of no instruction";
      if (const std::string broken = incomplete_diagnostic({finding.diagnostic}); !broken.empty()) return broken;
    }
  }
  return "";
}

}  // namespace

FuzzTarget program_target() { return {program_seeds, take_program}; }

}  // namespace dovetail::test
