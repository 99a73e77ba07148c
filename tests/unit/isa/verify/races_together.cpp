// Launches that begin together on several accelerators must not write bytes that another one accesses, and each
// accelerator has its own SRAM.
#include "tests/unit/isa/verify/program.h"

namespace dovetail::test {

namespace {

// Two tiles, one for each accelerator: instructions 0 to 6 and 7 to 13.
constexpr std::string_view kTwice = R"(
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.inp sram=0 dram=0x10 size=1x4 stride=4 push_next
load.wgt sram=0 dram=0x10 size=1x1 stride=1 push_next
gemm uop=0:1 iter=1x1 reset pop_prev
gemm uop=0:1 iter=1x1 pop_prev push_next
store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev
finish
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.inp sram=0 dram=0x10 size=1x4 stride=4 push_next
load.wgt sram=0 dram=0x10 size=1x1 stride=1 push_next
gemm uop=0:1 iter=1x1 reset pop_prev
gemm uop=0:1 iter=1x1 pop_prev push_next
store.out sram=0 dram=0x201 size=1x1 stride=1 pop_prev
finish
)";

std::uint64_t& dram_base(Checked& checked, std::size_t instruction) {
  return std::get<isa::Store>(checked.program[instruction].body).dram_base;
}

isa::VerifyReport report_of(const Checked& checked, const std::vector<isa::Launch>& launches) {
  isa::VerifyOptions options;
  options.launches = launches;
  return checked.report(options);
}

const std::vector<isa::Launch> kTogether{{0, 7, 0, false}, {7, 7, 1, true}};
const std::vector<isa::Launch> kInTurn{{0, 7, 0, false}, {7, 7, 1, false}};

}  // namespace

TEST_CASE("verify: launches that store to different bytes may begin together") {
  CHECK(text(report_of(Checked(kTwice), kTogether)) == "");
}

TEST_CASE("verify: two launches that begin together store to the same bytes") {
  Checked checked(kTwice);
  dram_base(checked, 12) = 0x200;
  const isa::VerifyReport report = report_of(checked, kTogether);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::race);
  CHECK(report.findings[0].instruction == 12);
  CHECK(report.findings[0].other == 5);
  CHECK(text(report_of(checked, kInTurn)) == "");
}

TEST_CASE("verify: a launch loads what another one that begins together stores") {
  for (const bool second_stores : {false, true}) {
    Checked checked(kTwice);
    const auto bytes = [&](isa::Memory memory) {
      return static_cast<std::uint64_t>(checked.config.element_bytes(memory));
    };
    const std::uint64_t loaded =
        std::get<isa::Load>(checked.program[1].body).dram_base * bytes(isa::Memory::inp) / bytes(isa::Memory::out);
    dram_base(checked, second_stores ? 12 : 5) = loaded;
    // The launch that stores reads the bytes, too, but before.
    const isa::VerifyReport report = report_of(checked, kTogether);
    bool found = false;
    for (const isa::Finding& finding : report.findings)
      found |= finding.kind == isa::FindingKind::race && finding.other == (second_stores ? 1u : 5u) &&
               finding.instruction == (second_stores ? 12u : 8u);
    CHECK(found);
  }
}

TEST_CASE("verify: two launches that begin together on one accelerator") {
  const isa::VerifyReport report = report_of(Checked(kTwice), {{0, 7, 1, false}, {7, 7, 1, true}});
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::illegal);
  CHECK(report.findings[0].instruction == 7);
}

TEST_CASE("verify: a launch does not see the SRAM of another accelerator") {
  Checked checked(kTwice);
  // Without its own weights, the second launch has those of the launch before, on the same accelerator only.
  checked.program[9] = checked.program[8];
  CHECK(text(report_of(checked, {{0, 7, 0, false}, {7, 7, 0, false}})) == "");
  const isa::VerifyReport report = report_of(checked, kInTurn);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::undefined_read);
  CHECK(report.findings[0].memory == isa::Memory::wgt);
}

TEST_CASE("verify: each launch obeys the configuration of its accelerator") {
  Checked checked(kTwice);
  isa::HardwareConfig small = checked.config;
  small.wgt_buffer_bytes = 256;  // one element
  small.name = "small";
  std::get<isa::Load>(checked.program[9].body).sram_base = 1;
  isa::VerifyOptions options;
  options.launches = kTogether;
  options.dram = isa::DramImage{0, checked.dram};
  const auto kinds = [&](const isa::AcceleratorConfigs& configs) {
    std::vector<std::pair<isa::FindingKind, std::size_t>> found;
    for (const isa::Finding& finding : isa::verify(configs, checked.program, options).findings)
      found.emplace_back(finding.kind, finding.instruction);
    return found;
  };
  using enum isa::FindingKind;
  // The weights are in an element that the product does not read; on the small accelerator there is no such element.
  CHECK(kinds(checked.config) == std::vector{std::pair(undefined_read, std::size_t{11})});
  CHECK(kinds({checked.config, {small}}).front() == std::pair(illegal, std::size_t{9}));
  CHECK(kinds({small, {checked.config}}) == std::vector{std::pair(undefined_read, std::size_t{11})});
}

TEST_CASE("verify: a launch needs an accelerator, with its own instructions") {
  const Checked checked(kTwice);
  isa::HardwareConfig other = checked.config;
  other.name = "other";
  const isa::AcceleratorConfigs configs(checked.config, {other});
  isa::VerifyOptions options;
  options.dram = isa::DramImage{0, checked.dram};
  const auto problem = [&](const std::vector<isa::Launch>& launches) {
    options.launches = launches;
    return text(isa::verify(configs, checked.program, options));
  };
  CHECK(problem(kTogether) == "");
  CHECK_THAT(problem({{0, 7, 0, false}, {7, 7, 2, true}}),
             Catch::Matchers::ContainsSubstring("there are 2 accelerators, numbered from 0"));
  CHECK_THAT(problem({{0, 7, 0, false}, {0, 7, 1, false}}),
             Catch::Matchers::ContainsSubstring("another launch runs the same instructions"));
}

}  // namespace dovetail::test
