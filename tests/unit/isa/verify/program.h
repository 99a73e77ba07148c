// Programs in assembly with a memory image, for the verifier's unit tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/codec.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "tests/catch.h"

namespace dovetail::test {

struct Checked {
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<std::byte> dram = std::vector<std::byte>(1 << 16);

  explicit Checked(std::string_view text, std::vector<isa::Uop> uops = {{}}) {
    auto assembly = isa::parse_assembly(text, "test");
    INFO((assembly.ok() ? std::string() : to_string(assembly.errors())));
    REQUIRE(assembly.ok());
    config = assembly->config;
    program = assembly->program;
    std::vector<std::byte> encoded;
    for (const isa::Uop& uop : uops) REQUIRE(isa::Codec(config).encode(uop, encoded).ok());
    std::copy(encoded.begin(), encoded.end(), dram.begin());
  }

  isa::VerifyReport report(isa::VerifyOptions options = {}) const {
    if (!options.dram) options.dram = isa::DramImage{0, dram};
    return isa::verify(config, program, options);
  }
  isa::VerifyReport report_without_image() const { return isa::verify(config, program, {}); }
};

// "race: race on ... (where): why. Hint: ...", a line per finding.
inline std::string text(const isa::VerifyReport& report) {
  std::string lines;
  for (const isa::Finding& finding : report.findings) lines += to_string(finding.diagnostic, name(finding.kind)) + "\n";
  return lines;
}

// One tile from load to store, with every token in place. Instructions 0 to 5.
inline constexpr std::string_view kPipeline = R"(
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.inp sram=0 dram=0x10 size=1x4 stride=4 push_next
load.wgt sram=0 dram=0x10 size=1x1 stride=1 push_next
gemm uop=0:1 iter=1x1 reset pop_prev
gemm uop=0:1 iter=1x1 pop_prev push_next
store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev
)";

}  // namespace dovetail::test
