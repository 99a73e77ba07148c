// Random bytes and text: decoder, assembler and configuration reader return a result or diagnostics, and never crash or
// drop a bit.
#include <string>

#include "isa/codec.h"
#include "isa/legal.h"
#include "isa/text.h"
#include "tests/catch.h"
#include "tests/unit/isa/random_instruction.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

std::string mutate(test::Random& random, std::string text) {
  static constexpr char kLikely[] = "0123456789abcdefx,:=.-_ \t\n#;/xgemlodstrupinwacf\0\xff";
  const auto edits = 1 + random() % 8;
  for (std::uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    const char letter = random() % 4 == 0 ? static_cast<char>(random()) : kLikely[random() % (sizeof kLikely - 1)];
    switch (random() % 4) {
      case 0: text[at] = letter; break;
      case 1: text.insert(at, 1, letter); break;
      case 2: text.erase(at, 1 + random() % 5); break;
      default: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("random bytes decode to an instruction that encodes to them, or are diagnosed") {
  test::Random random(71);
  for (const HardwareConfig& config : test::named_and_random_configs(72, 20)) {
    const Codec codec(config);
    const LegalityRules rules(config);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::byte> bytes(random() % 200);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
      const auto program = codec.decode_program(bytes, "fuzz");
      if (!program.ok()) continue;
      const auto encoded = codec.encode_program(*program);
      REQUIRE(encoded.ok());
      REQUIRE(*encoded == bytes);
      for (const Instruction& instruction : *program)
        REQUIRE(rules.is_legal(instruction) == rules.check(instruction).empty());
    }
  }
}

TEST_CASE("mutated assembly is parsed or diagnosed") {
  test::Random random(81);
  for (const HardwareConfig& config : test::named_and_random_configs(82, 10)) {
    std::vector<Instruction> program;
    for (int i = 0; i < 12; ++i) program.push_back(test::random_instruction(random, config));
    const std::string text = format_assembly({config, program, {{1, 2, 3}}});
    for (int round = 0; round < 300; ++round) {
      const std::string mutated = mutate(random, text);
      const Result<Assembly> parsed = parse_assembly(mutated, "fuzz.s");
      if (!parsed.ok()) {
        REQUIRE_FALSE(to_string(parsed.errors()).empty());
        continue;
      }
      const Result<Assembly> again = parse_assembly(format_assembly(*parsed), "again.s");
      REQUIRE(again.ok());
      REQUIRE(again->program == parsed->program);
      REQUIRE(again->uops == parsed->uops);
    }
  }
}

TEST_CASE("mutated macros, repetitions and images are assembled or diagnosed") {
  test::Random random(85);
  const std::string text = R"(.config tiny
.equ n 2
k: .uop 0, 1, n*2-1
.data x int8[n,4] 1 -2
.space y int32[align(n,4)]
.macro tile i flags=""
l\@: load.inp dram=x+\i*inp.bytes size=1,x.dim0/2 \flags
.endm
.repeat n i
 tile \i push_next
.endr
load.acc dram=y size=(1)x(1)
)";
  int assembled = 0;
  for (int round = 0; round < 3000; ++round) {
    const Result<Assembly> parsed = parse_assembly(mutate(random, text), "fuzz.s");
    if (!parsed.ok()) {
      REQUIRE_FALSE(to_string(parsed.errors()).empty());
      continue;
    }
    ++assembled;
    REQUIRE(parsed->lines.size() == parsed->program.size());
    // Items ascend and are disjoint.
    std::uint64_t end = 0;
    for (const ImageItem& item : parsed->image) {
      REQUIRE(item.address >= end);
      REQUIRE((item.bytes.empty() || item.bytes.size() == item.size_bytes));
      end = item.address + item.size_bytes;
    }
    for (const Symbol& symbol : parsed->symbols) REQUIRE(symbol.is_closed);
    REQUIRE(parse_assembly(format_assembly(*parsed), "again.s")->program == parsed->program);
  }
  CHECK(assembled > 10);
}

TEST_CASE("random text is diagnosed as wrong assembly, without a crash") {
  test::Random random(91);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 400, ' ');
    for (char& letter : text) letter = static_cast<char>(random());
    static_cast<void>(parse_assembly(text, "fuzz.s").ok());
  }
}

TEST_CASE("mutated configurations are read or diagnosed") {
  test::Random random(101);
  for (const HardwareConfig& config : named_configs()) {
    const std::string text = config_to_json(config).dump();
    for (int round = 0; round < 300; ++round) {
      const auto json = parse_json(mutate(random, text), "fuzz.json");
      if (!json.ok()) continue;
      const auto read = config_from_json(*json, "fuzz.json");
      if (read.ok()) REQUIRE(validate(*read).ok());
    }
  }
}
