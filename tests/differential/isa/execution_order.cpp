// Programs without a finding of verify give the same bytes in every order of execution, and so does the functional
// simulator.
#include <fmt/format.h>

#include "isa/verify.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/differential/isa/random_order.h"
#include "tests/generator/generator.h"

namespace dovetail::test {
namespace {

// Describes the difference; empty: none.
std::string simulate(const GeneratedProgram& program, simulator::ExecutionOrder order, simulator::Dram& dram) {
  simulator::FunctionalOptions options;
  options.order = order;
  const auto simulator = simulator::make_functional(program.config, options);
  for (const isa::Launch& launch : program.launches)
    if (const auto run =
            simulator->launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin);
        !run.ok())
      return to_string(run.errors());
  return "";
}

std::string difference(const GeneratedProgram& program, std::size_t orders) {
  simulator::Dram expected{program.dram_base, program.dram};
  if (std::string error = simulate(program, simulator::ExecutionOrder::program, expected); !error.empty())
    return "functional: " + error;
  for (const auto order : {simulator::ExecutionOrder::load_first, simulator::ExecutionOrder::store_first}) {
    simulator::Dram dram{program.dram_base, program.dram};
    if (std::string error = simulate(program, order, dram); !error.empty()) return "functional, other order: " + error;
    if (dram.bytes != expected.bytes) return "functional: two execution orders differ";
  }
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    ReferenceMachine machine(program);
    if (!machine.run(seed)) return fmt::format("reference, order {}: stuck", seed);
    if (machine.dram() == expected.bytes) continue;
    const auto at = std::mismatch(machine.dram().begin(), machine.dram().end(), expected.bytes.begin()).first -
                    machine.dram().begin();
    return fmt::format("reference, order {}: differs from the functional simulator at address {:#x}", seed,
                       program.dram_base + static_cast<std::uint64_t>(at));
  }
  return "";
}

}  // namespace

TEST_CASE("clean programs give the same bytes in every execution order") {
  const auto check = [](const isa::HardwareConfig& config, const GeneratorOptions& options) {
    const GeneratedProgram program = generate(config, options);
    const std::string what = difference(program, 3);
    if (what.empty()) return;
    const GeneratedProgram small = shrink(program, [](const GeneratedProgram& p) {
      return isa::verify(p.config, p.program, p.verify_options()).clean() && !difference(p, 3).empty();
    });
    FAIL(what << "\nshrunk: " << difference(small, 3) << "\n" << describe(small));
  };
  for (std::uint64_t seed = 0; seed < scaled(300); ++seed) check(random_config(seed), {.seed = seed});
  for (std::uint64_t seed = 0; seed < scaled(4); ++seed) check(isa::HardwareConfig{}, {.seed = seed, .size = 200});
}

// The converse, as far as running can show it: where two orders give different bytes, verify has a finding.
TEST_CASE("verify finds something wherever two execution orders differ") {
  std::size_t different = 0, dirty = 0;
  for (std::uint64_t seed = 0; seed < scaled(400); ++seed) {
    GeneratedProgram program = generate(random_config(seed), {.seed = seed, .size = 30, .max_steps = 40});
    const std::vector<TokenPair> tokens = token_pairs(program);
    if (tokens.empty()) continue;
    drop_token(program, tokens[Random(seed).below(tokens.size())]);
    const bool clean = isa::verify(program.config, program.program, program.verify_options()).clean();
    dirty += !clean;
    ReferenceMachine first(program);
    if (!first.run(0)) {
      CHECK(!clean);
      continue;
    }
    for (std::uint64_t order = 1; order < 6; ++order) {
      ReferenceMachine other(program);
      other.run(order);
      if (other.dram() == first.dram()) continue;
      ++different;
      INFO(describe(program));
      CHECK(!clean);
      break;
    }
  }
  // The test is meaningful only if there are such programs.
  CHECK(different * 20 >= scaled(400));
  CHECK(dirty >= different);
}

TEST_CASE("verify and the functional simulator agree about deadlock and leftover tokens") {
  std::size_t deadlocks = 0, leftovers = 0;
  for (std::uint64_t seed = 0; seed < scaled(1000); ++seed) {
    GeneratedProgram program =
        generate(random_config(seed), {.seed = seed, .size = 30, .launches = 1, .max_steps = 20});
    Random random(seed);
    // Only the order on the FIFOs matters, not data: every instruction keeps its queue and moves only tokens.
    for (isa::Instruction& instruction : program.program) {
      if (auto* load = std::get_if<isa::Load>(&instruction.body)) load->x_size = 0;
      else if (auto* store = std::get_if<isa::Store>(&instruction.body)) store->x_size = 0;
      else instruction.body = isa::Finish{};
    }
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      if (random.chance(50)) {
        std::swap(program.program[random.below(program.program.size())],
                  program.program[random.below(program.program.size())]);
      } else if (const auto tokens = token_pairs(program); !tokens.empty()) {
        const TokenPair& token = tokens[random.below(tokens.size())];
        isa::DependencyFlags& flags = program.program[random.chance(50) ? token.push : token.pop].flags;
        if (random.chance(50)) flags.pop_prev = flags.pop_next = false;
        else flags.push_prev = flags.push_next = false;
      }
    }
    const isa::VerifyReport report = isa::verify(program.config, program.program, program.verify_options());
    bool deadlock = false, leftover = false;
    for (const isa::Finding& finding : report.findings) {
      deadlock |= finding.kind == isa::FindingKind::deadlock;
      leftover |= finding.kind == isa::FindingKind::leftover_token;
    }
    simulator::Dram dram{program.dram_base, program.dram};
    const std::string error =
        simulate(program,
                 random.pick({simulator::ExecutionOrder::program, simulator::ExecutionOrder::load_first,
                              simulator::ExecutionOrder::store_first}),
                 dram);
    INFO(describe(program) << error);
    CHECK((error.find("deadlock") != std::string::npos) == deadlock);
    if (!deadlock) CHECK((error.find("left over") != std::string::npos) == leftover);
    CHECK(error.empty() == report.clean());
    deadlocks += deadlock;
    leftovers += leftover && !deadlock;
  }
  CHECK(deadlocks * 20 >= scaled(1000));
  CHECK(leftovers * 50 >= scaled(1000));
}

}  // namespace dovetail::test
