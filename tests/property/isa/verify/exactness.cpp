// verify compared with the oracle, both ways: every fault is reported, and every finding is a fault.
#include <fmt/format.h>

#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/generator/tokens.h"
#include "tests/property/isa/verify/crossed_program.h"
#include "tests/property/isa/verify/oracle.h"

namespace dovetail::test {
namespace {

using isa::FindingKind;

std::size_t place_of(const std::optional<isa::Memory>& memory) {
  if (!memory) return OracleReport::kDram;
  return static_cast<std::size_t>(std::find(kShared.begin(), kShared.end(), *memory) - kShared.begin());
}

std::string place_text(const std::optional<std::size_t>& instruction) {
  return instruction ? fmt::format("at {}", *instruction) : "none";
}

// Describes the disagreement; empty: none.
std::string disagreement(const GeneratedProgram& program, Orders orders = Orders::closure) {
  isa::VerifyOptions options = program.verify_options();
  options.max_findings = 1u << 20;
  const isa::VerifyReport report = isa::verify(program.config, program.program, options);
  const OracleReport truth = judge(program, orders);

  std::set<OracleReport::Place> raced;
  std::set<std::pair<std::size_t, OracleReport::Place>> undefined;
  std::set<std::pair<std::size_t, std::uint64_t>> undefined_uops;
  std::set<std::uint64_t> overwritten;
  std::set<std::size_t> illegal;
  std::size_t leftovers = 0;
  std::optional<std::size_t> deadlock;
  bool token_missing = false;
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
      case FindingKind::deadlock:
        deadlock = finding.instruction;
        token_missing = finding.diagnostic.what == "deadlock, as a token is missing";
        break;
    }
  }
  if (report.suppressed != 0) return "findings are suppressed";
  for (const auto& [place, pairs] : truth.races)
    if (raced.count(place) == 0)
      return fmt::format("missed race at {}:{} between {} and {}", place.first, place.second, pairs.begin()->first,
                         pairs.begin()->second);
  if (deadlock != truth.deadlock)
    return fmt::format("deadlock: verify {}, oracle {}", place_text(deadlock), place_text(truth.deadlock));
  if (deadlock && token_missing != truth.token_missing)
    return fmt::format("a token is missing: verify {}, oracle {}", token_missing, truth.token_missing);
  if (leftovers != truth.leftovers) return fmt::format("leftovers: verify {}, oracle {}", leftovers, truth.leftovers);
  if (undefined != truth.undefined)
    return fmt::format("undefined reads: verify {}, oracle {}", undefined.size(), truth.undefined.size());
  if (undefined_uops != truth.undefined_uops) return "undefined micro-ops differ";
  if (overwritten != truth.overwritten) return "overwritten micro-ops differ";
  if (illegal != truth.illegal)
    return fmt::format("illegal: verify {}, oracle {}", illegal.size(), truth.illegal.size());
  return "";
}

void require_agreement(const GeneratedProgram& program, Orders orders = Orders::closure) {
  const std::string difference = disagreement(program, orders);
  if (difference.empty()) return;
  const GeneratedProgram smallest =
      shrink(program, [&](const GeneratedProgram& p) { return !disagreement(p, orders).empty(); });
  FAIL(difference << "\nshrunk: " << disagreement(smallest, orders) << "\n" << describe(smallest));
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

// Whether all states of a launch can be visited: their number grows with each instruction, and with each beat of a
// load.
bool is_small(const GeneratedProgram& program) {
  const auto bus = static_cast<std::uint64_t>(program.config.bus_bytes);
  return std::all_of(program.launches.begin(), program.launches.end(), [&](const isa::Launch& launch) {
    std::uint64_t beats = 0;
    for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i) {
      const auto* load = std::get_if<isa::Load>(&program.program[i].body);
      if (load == nullptr || program.program[i].queue() != isa::Queue::load) continue;
      const auto element = static_cast<std::uint64_t>(program.config.element_bytes(load->memory));
      beats += load->y_size * (load->x_size * element / bus + 1);
    }
    return launch.count <= 12 && beats <= 32;
  });
}

}  // namespace

// The verdicts by definition: «race» where two conflicting accesses occur in both orders with unlimited queues,
// «deadlock» where the units of docs/reference/timing.md stop with the configured ones.
TEST_CASE("verify agrees with all executions of small programs") {
  std::size_t races = 0, clean = 0;
  for (std::uint64_t seed = 7u << 20; seed < (7u << 20) + scaled(400); ++seed) {
    GeneratedProgram program =
        generate(random_config(seed), {.seed = seed, .size = 5, .launches = 2, .extra_percent = 20, .max_steps = 20});
    Random random(seed);
    for (std::uint64_t drops = random.below(3); drops > 0; --drops)
      if (const auto tokens = token_pairs(program); !tokens.empty())
        drop_token(program, tokens[random.below(tokens.size())]);
    if (random.chance(30)) flip(program.program[random.below(program.program.size())], random);
    if (!is_small(program)) continue;
    require_agreement(program, Orders::enumerated);
    const OracleReport truth = judge(program, Orders::closure);
    races += !truth.races.empty();
    clean += truth.races.empty() && !truth.deadlock && truth.leftovers == 0;
  }
  // The test is meaningful only if both kinds occur.
  CAPTURE(races, clean);
  for (const std::size_t met : {races, clean}) CHECK(met * 20 >= scaled(400));
}

TEST_CASE("verify agrees with all executions about deadlock and leftover tokens") {
  std::size_t missing = 0, too_short = 0, leftovers = 0, clean = 0;
  for (std::uint64_t seed = 8u << 20; seed < (8u << 20) + scaled(600); ++seed) {
    const GeneratedProgram program = token_program(shallow_config(seed), seed, 14);
    require_agreement(program, Orders::enumerated);
    const OracleReport truth = judge(program, Orders::closure);
    missing += truth.deadlock && truth.token_missing;
    too_short += truth.deadlock && !truth.token_missing;
    leftovers += !truth.deadlock && truth.leftovers != 0;
    clean += !truth.deadlock && truth.leftovers == 0;
  }
  CAPTURE(missing, too_short, leftovers, clean);
  for (const std::size_t met : {missing, too_short, leftovers, clean}) CHECK(met * 50 >= scaled(600));
}

TEST_CASE("verify agrees with all executions about instructions that start while an earlier one waits to push") {
  std::size_t small = 0, ends = 0;
  for (std::uint64_t seed = 9u << 20; seed < (9u << 20) + scaled(1000); ++seed) {
    isa::HardwareConfig config = shallow_config(seed);
    if (seed % 4 != 0) config.command_queue_depth = 32;  // so that all instructions are fetched
    const GeneratedProgram program = crossed_program(config, seed);
    const bool enumerated = is_small(program);
    require_agreement(program, enumerated ? Orders::enumerated : Orders::closure);
    small += enumerated;
    ends += !judge(program, Orders::closure).deadlock;
  }
  CAPTURE(small, ends);
  CHECK(small * 50 >= scaled(1000));
  CHECK(ends * 10 >= scaled(1000));
  CHECK((scaled(1000) - ends) * 10 >= scaled(1000));
}

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

TEST_CASE("verify agrees with the oracle when instructions are removed or moved") {
  for (std::uint64_t seed = 3u << 20; seed < (3u << 20) + scaled(1000); ++seed) {
    GeneratedProgram program = small_program(seed);
    Random random(seed);
    for (std::uint64_t i = random.between(1, 4); i > 0; --i) {
      const std::size_t a = random.below(program.program.size());
      if (random.chance(50)) std::swap(program.program[a], program.program[random.below(program.program.size())]);
      else program.program[a].body = isa::Finish{};
    }
    // A load or store that became FINISH may carry flags of another queue, which the compute queue has too.
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
      } else if (auto* window = std::get_if<isa::Window>(&instruction.body)) {
        grow(window->wgt_factor_in, program.config.depth(isa::Memory::wgt));
        grow(window->dst_factor_in, program.config.depth(isa::Memory::acc));
        grow(window->iter_in, 64);
      } else if (auto* gemmq = std::get_if<isa::GemmQ>(&instruction.body)) {
        grow(gemmq->wgt_factor_out, program.config.depth(isa::Memory::wgt));
        grow(gemmq->iter_out, 64);
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
