// Configurations from the whole space, and programs for them.
#include <set>
#include <string>

#include <fmt/format.h>

#include "isa/spec/config.h"
#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

namespace {

constexpr std::size_t kEnds = 2 * isa::spec::kParameters.size();  // of all ranges

}  // namespace

TEST_CASE("as many consecutive configurations as ranges have ends reach all of them") {
  for (const DesignLimits& limits : {kRtlLimits, kModelLimits})
    for (const std::uint64_t first : {0, 1, 77}) {
      std::set<std::string> ends;
      std::set<isa::Encoding> encodings;
      for (std::uint64_t seed = first; seed < first + kEnds; ++seed) {
        const isa::HardwareConfig config = any_config(seed, limits);
        CAPTURE(seed, isa::config_to_json(config).dump());
        for (const isa::spec::Parameter& row : isa::spec::kParameters)
          if (const auto end = range_end(config, row.key, limits))
            ends.insert(fmt::format("{} {}", row.key, *end == RangeEnd::most));
        encodings.insert(config.encoding());
      }
      CHECK(ends.size() == kEnds);
      CHECK(encodings.size() == 2);
    }
}

TEST_CASE("ten times as many consecutive configurations as subsets of extensions reach all of them") {
  constexpr std::uint64_t kSubsets = std::uint64_t{1} << isa::spec::kExtensions.size();
  for (const DesignLimits& limits : {kRtlLimits, kModelLimits})
    for (const std::uint64_t first : {0, 1, 77}) {
      std::set<std::string> subsets;
      for (std::uint64_t seed = first; seed < first + 10 * kSubsets; ++seed) {
        const isa::HardwareConfig config = any_config(seed, limits);
        std::string subset;
        for (const isa::spec::Extension& row : isa::spec::kExtensions) subset += config.*row.member ? '1' : '0';
        subsets.insert(subset);
      }
      CHECK(subsets.size() == 5 * kSubsets / 8);  // `epilogue` and `norm` need `requant`
    }
}

TEST_CASE("fifty consecutive configurations have each extension on and off") {
  for (const DesignLimits& limits : {kRtlLimits, kModelLimits})
    for (const std::uint64_t first : {0, 1, 77})
      for (const isa::spec::Extension& row : isa::spec::kExtensions) {
        CAPTURE(row.key, first);
        int on = 0;
        for (std::uint64_t seed = first; seed < first + 50; ++seed) on += any_config(seed, limits).*row.member;
        CHECK((on >= 5 && on <= 45));
      }
}

TEST_CASE("all drawn configurations are legal, within any limits") {
  for (const DesignLimits& limits : {kRtlLimits, kModelLimits, DesignLimits{.macs = 16, .sram_bytes = 4096}})
    for (std::uint64_t seed = 0; seed < scaled(3000); ++seed) {
      const isa::HardwareConfig config = any_config(seed, limits);
      CAPTURE(seed, isa::config_to_json(config).dump());
      REQUIRE(isa::validate(config).ok());
      REQUIRE(config.macs_per_uop() <= limits.macs);
      REQUIRE(config.uop_buffer_bytes + config.inp_buffer_bytes + config.wgt_buffer_bytes + config.acc_buffer_bytes <=
              limits.sram_bytes);
      for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
        REQUIRE(config.element_bytes(memory) <= limits.element_bytes);
    }
}

TEST_CASE("random programs of any configuration have no finding of verify, wherever their image is stored") {
  for (std::uint64_t seed = 0; seed < scaled(kEnds); ++seed) {
    const GeneratedProgram program =
        generate(any_config(seed, kRtlLimits),
                 {.seed = seed, .size = 30, .max_steps = 40, .anywhere = true, .most_transfer_bytes = 2048});
    CAPTURE(program.config.name);
    CHECK(program.dram_base + program.dram.size() <= std::uint64_t{1} << program.config.address_bits);
    const isa::VerifyReport report = isa::verify(program.config, program.program, program.verify_options());
    if (!report.clean()) FAIL(to_string(report.findings.front().diagnostic) << "\n" << describe(program));
  }
}

}  // namespace dovetail::test
