// Without a memory image verify knows less and may only claim less: its definite findings are faults, and every fault
// is at least suspected.
#include <map>
#include <set>

#include "isa/spec/memories.h"
#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/property/isa/verify/oracle.h"

namespace dovetail::test {
namespace {

using isa::FindingKind;

std::set<std::optional<isa::Memory>> raced_memories(const isa::VerifyReport& report) {
  std::set<std::optional<isa::Memory>> memories;
  for (const isa::Finding& finding : report.findings)
    if (finding.kind == FindingKind::race) memories.insert(finding.memory);
  return memories;
}

std::size_t count(const isa::VerifyReport& report, FindingKind kind) {
  std::size_t n = 0;
  for (const isa::Finding& finding : report.findings) n += finding.kind == kind;
  return n;
}

void compare(const GeneratedProgram& program) {
  isa::VerifyOptions options = program.verify_options();
  options.max_findings = 1u << 20;
  const isa::VerifyReport with = isa::verify(program.config, program.program, options);
  options.dram.reset();
  const isa::VerifyReport without = isa::verify(program.config, program.program, options);
  const OracleReport truth = judge(program);

  for (const isa::Finding& finding : without.findings) {
    INFO(to_string(finding.diagnostic));
    if (finding.kind == FindingKind::race && !finding.possible) {
      const std::size_t memory =
          finding.memory
              ? static_cast<std::size_t>(std::find(kShared.begin(), kShared.end(), *finding.memory) - kShared.begin())
              : OracleReport::kDram;
      for (const isa::Extent& extent : finding.extents)
        for (std::uint64_t e = extent.begin; e < extent.end; ++e) {
          const auto known = truth.races.find({memory, e});
          REQUIRE(known != truth.races.end());
          CHECK(known->second.count({*finding.other, finding.instruction}) == 1);
        }
    }
    if (finding.kind == FindingKind::undefined_read && finding.memory != isa::Memory::uop) {
      bool real = false;
      for (const auto& [instruction, place] : truth.undefined)
        real |= instruction == finding.instruction && kShared[place.first] == finding.memory;
      CHECK(real);
    }
    // Findings that need no micro-ops are always definite.
    if (finding.possible) CHECK((finding.kind == FindingKind::race && finding.memory.has_value()));
  }
  const auto suspected = raced_memories(without);
  for (const auto& memory : raced_memories(with)) CHECK(suspected.count(memory) == 1);
  for (const FindingKind kind : {FindingKind::deadlock, FindingKind::leftover_token, FindingKind::uop_overwrite})
    CHECK(count(with, kind) == count(without, kind));
}

}  // namespace

TEST_CASE("without an image verify suspects every fault, and claims none that is not one") {
  for (std::uint64_t seed = 6u << 20; seed < (6u << 20) + scaled(600); ++seed) {
    GeneratedProgram program =
        generate(random_config(seed), {.seed = seed, .size = 24, .launches = 2, .extra_percent = 20, .max_steps = 40});
    Random random(seed);
    for (std::uint64_t drops = random.below(4); drops > 0; --drops)
      if (const auto tokens = token_pairs(program); !tokens.empty())
        drop_token(program, tokens[random.below(tokens.size())]);
    if (random.chance(30)) {  // one memory is never loaded
      const isa::Memory lost = random.pick({isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc});
      for (isa::Instruction& instruction : program.program)
        if (auto* load = std::get_if<isa::Load>(&instruction.body);
            load != nullptr && isa::spec::is_memory(load->memory) && isa::spec::info(load->memory).buffer == lost)
          load->x_size = 0;
    }
    INFO("seed " << seed);
    compare(program);
  }
}

}  // namespace dovetail::test
