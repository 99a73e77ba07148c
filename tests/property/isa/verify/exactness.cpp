// verify against the oracle, both ways: nothing that is wrong goes unreported, nothing reported is right.
#include <fmt/format.h>

#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/property/isa/verify/oracle.h"

namespace dovetail::test {
namespace {

using isa::FindingKind;

std::size_t place_of(const std::optional<isa::Memory>& memory) {
  if (!memory) return OracleReport::kDram;
  return static_cast<std::size_t>(std::find(kShared.begin(), kShared.end(), *memory) - kShared.begin());
}

// What the two disagree about; empty where they agree.
std::string disagreement(const GeneratedProgram& program) {
  isa::VerifyOptions options = program.verify_options();
  options.max_findings = 1u << 20;
  const isa::VerifyReport report = isa::verify(program.config, program.program, options);
  const OracleReport truth = judge(program);

  std::set<OracleReport::Place> raced;
  std::set<std::pair<std::size_t, OracleReport::Place>> undefined;
  std::set<std::pair<std::size_t, std::uint64_t>> undefined_uops;
  std::set<std::uint64_t> overwritten;
  std::set<std::size_t> illegal;
  std::size_t leftovers = 0;
  bool deadlock = false;
  for (const isa::Finding& finding : report.findings) {
    if (finding.possible) return "a finding is only possible, though there is an image";
    switch (finding.kind) {
      case FindingKind::race:
        if (finding.extents.empty()) return "a race without a place";
        for (const isa::Extent& extent : finding.extents)
          for (std::uint64_t e = extent.begin; e < extent.end; ++e) {
            const OracleReport::Place place{place_of(finding.memory), e};
            const auto known = truth.races.find(place);
            if (known == truth.races.end() || known->second.count({*finding.other, finding.instruction}) == 0)
              return fmt::format("no race: {}", to_string(finding.diagnostic));
            raced.insert(place);
          }
        break;
      case FindingKind::undefined_read:
        for (const isa::Extent& extent : finding.extents)
          for (std::uint64_t e = extent.begin; e < extent.end; ++e) {
            if (finding.memory == isa::Memory::uop) undefined_uops.insert({finding.instruction, e});
            else undefined.insert({finding.instruction, {place_of(finding.memory), e}});
          }
        break;
      case FindingKind::uop_overwrite:
        for (const isa::Extent& extent : finding.extents)
          for (std::uint64_t e = extent.begin; e < extent.end; ++e) overwritten.insert(e);
        break;
      case FindingKind::illegal: illegal.insert(finding.instruction); break;
      case FindingKind::leftover_token: ++leftovers; break;
      case FindingKind::deadlock: deadlock = true; break;
    }
  }
  if (report.suppressed != 0) return "findings are suppressed";
  for (const auto& [place, pairs] : truth.races)
    if (raced.count(place) == 0)
      return fmt::format("missed race at {}:{} between {} and {}", place.first, place.second, pairs.begin()->first,
                         pairs.begin()->second);
  if (deadlock != truth.deadlock) return fmt::format("deadlock: verify {}, oracle {}", deadlock, truth.deadlock);
  if (leftovers != truth.leftovers) return fmt::format("leftovers: verify {}, oracle {}", leftovers, truth.leftovers);
  if (undefined != truth.undefined)
    return fmt::format("undefined reads: verify {}, oracle {}", undefined.size(), truth.undefined.size());
  if (undefined_uops != truth.undefined_uops) return "undefined micro-ops differ";
  if (overwritten != truth.overwritten) return "overwritten micro-ops differ";
  if (illegal != truth.illegal)
    return fmt::format("illegal: verify {}, oracle {}", illegal.size(), truth.illegal.size());
  return "";
}

void require_agreement(const GeneratedProgram& program) {
  const std::string difference = disagreement(program);
  if (difference.empty()) return;
  const GeneratedProgram smallest = shrink(program, [](const GeneratedProgram& p) { return !disagreement(p).empty(); });
  FAIL(difference << "\nshrunk: " << disagreement(smallest) << "\n" << describe(smallest));
}

GeneratedProgram small_program(std::uint64_t seed) {
  return generate(random_config(seed), {.seed = seed, .size = 24, .launches = 2, .extra_percent = 20, .max_steps = 40});
}

void flip(isa::Instruction& instruction, Random& random) {
  isa::DependencyFlags& flags = instruction.flags;
  const bool prev =
      instruction.queue() != isa::Queue::load && (instruction.queue() == isa::Queue::store || random.chance(50));
  bool& flag = prev ? (random.chance(50) ? flags.pop_prev : flags.push_prev)
                    : (random.chance(50) ? flags.pop_next : flags.push_next);
  flag = !flag;
}

}  // namespace

TEST_CASE("verify agrees with the oracle on legal programs") {
  for (std::uint64_t seed = 0; seed < scaled(1000); ++seed) require_agreement(small_program(seed));
}

TEST_CASE("verify agrees with the oracle when tokens are dropped") {
  for (std::uint64_t seed = 1u << 20; seed < (1u << 20) + scaled(1500); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    for (std::uint64_t drops = random.between(1, 3); drops > 0; --drops) {
      const std::vector<TokenPair> tokens = token_pairs(program);
      if (!tokens.empty()) drop_token(program, tokens[random.below(tokens.size())]);
    }
    require_agreement(program);
  }
}

TEST_CASE("verify agrees with the oracle on random flags") {
  for (std::uint64_t seed = 2u << 20; seed < (2u << 20) + scaled(1500); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    const std::uint64_t flips = random.chance(20) ? program.program.size() * 2 : random.between(1, 4);
    for (std::uint64_t i = 0; i < flips; ++i) flip(program.program[random.below(program.program.size())], random);
    require_agreement(program);
  }
}

TEST_CASE("verify agrees with the oracle when instructions are lost or moved") {
  for (std::uint64_t seed = 3u << 20; seed < (3u << 20) + scaled(1000); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    for (std::uint64_t i = random.between(1, 4); i > 0; --i) {
      const std::size_t a = random.below(program.program.size());
      if (random.chance(50)) std::swap(program.program[a], program.program[random.below(program.program.size())]);
      else program.program[a].body = isa::Finish{};
    }
    // A load or store that became FINISH may carry flags of another queue, which the compute queue has as well.
    require_agreement(program);
  }
}

TEST_CASE("verify agrees with the oracle on indices out of range") {
  for (std::uint64_t seed = 4u << 20; seed < (4u << 20) + scaled(1000); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
      isa::Instruction& instruction = program.program[random.below(program.program.size())];
      const auto grow = [&](std::uint32_t& value, std::int64_t limit) {
        value = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(value + random.below(4), static_cast<std::uint64_t>(limit - 1)));
      };
      if (auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) {
        grow(gemm->src_factor_in, program.config.depth(isa::Memory::inp));
        grow(gemm->iter_in, 64);
      } else if (auto* alu = std::get_if<isa::Alu>(&instruction.body)) {
        grow(alu->dst_factor_out, program.config.depth(isa::Memory::acc));
        grow(alu->src_factor_in, program.config.depth(isa::Memory::acc));
      } else if (auto* store = std::get_if<isa::Store>(&instruction.body)) {
        store->sram_base += static_cast<std::uint32_t>(random.below(8));
        store->dram_base += random.below(64);
      } else if (auto* load = std::get_if<isa::Load>(&instruction.body);
                 load != nullptr && load->memory != isa::Memory::uop) {
        grow(load->x_pad_0, 16);
        load->dram_base += random.below(64);
      }
    }
    require_agreement(program);
  }
}

TEST_CASE("verify agrees with the oracle when stores reach micro-ops") {
  for (std::uint64_t seed = 5u << 20; seed < (5u << 20) + scaled(300); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    const auto size = static_cast<std::uint64_t>(program.config.element_bytes(isa::Memory::out));
    for (isa::Instruction& instruction : program.program)
      if (auto* store = std::get_if<isa::Store>(&instruction.body); store != nullptr && random.chance(30))
        store->dram_base = (program.dram_base + random.below(2048)) / size;
    require_agreement(program);
  }
}

}  // namespace dovetail::test
