// One verdict on tokens: verifier, functional and cycle simulator, SystemC platform and design complete the same
// launches, stop at the same instruction, and report it in the same words.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "isa/spec/registers.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "isa/verify/token_use.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/generator/generator.h"
#include "tests/generator/tokens.h"
#include "tests/torture/models.h"

namespace dovetail::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using simulator::Dram;
using simulator::Simulator;

struct Engine {
  std::string name;
  std::unique_ptr<Simulator> simulator;
};

enum class Rtl : std::uint8_t { included, left_out };

std::vector<Engine> engines_with(const isa::HardwareConfig& config, Rtl rtl) {
  using simulator::ExecutionOrder;
  std::vector<Engine> all;
  for (const auto& [name, order] : {std::pair{"functional", ExecutionOrder::program},
                                    {"functional, loads first", ExecutionOrder::load_first},
                                    {"functional, stores first", ExecutionOrder::store_first}})
    all.push_back({name, simulator::make_functional(config, {.order = order})});
  all.push_back({"cycle", simulator::make_cycle(config)});
  if (simulator::find_systemc_engine()) all.push_back({"systemc", simulator::make_systemc(config, {}).value()});
  if (rtl == Rtl::included)
    for (const bool with_slave : {false, true}) {
      simulator::RtlOptions options;
      options.model = rtl_model(config);
      if (with_slave) options.slave = simulator::any_axi_slave(7);
      if (options.model)
        all.push_back({with_slave ? "rtl, any slave" : "rtl", simulator::make_rtl(config, options).value()});
    }
  return all;
}

// The engine's report on the first launch that fails; empty: none fails.
std::string outcome(Simulator& simulator, const GeneratedProgram& program) {
  Dram dram{program.dram_base, program.dram};
  simulator.reset();
  for (const isa::Launch& launch : program.launches) {
    const auto counters =
        simulator.launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin);
    if (!counters.ok()) return to_string(counters.errors());
  }
  return {};
}

// verify's first finding, in the words of the engines.
std::string verdict(const GeneratedProgram& program) {
  const isa::VerifyReport report = isa::verify(program.config, program.program, program.verify_options());
  for (const isa::Launch& launch : program.launches) {
    // Where a launch stops, the tokens that it would leave over are hypothetical.
    bool stops = false;
    std::vector<isa::Finding> findings;
    for (const isa::Finding& finding : report.findings)
      if (finding.instruction >= launch.begin && finding.instruction < launch.begin + launch.count) {
        stops |= finding.kind == isa::FindingKind::deadlock;
        findings.push_back(finding);
      }
    // Engines report a launch's FIFOs in their order, verify in the order of instructions.
    std::vector<std::string> lines;
    for (isa::Finding& finding : findings) {
      if (stops && finding.kind != isa::FindingKind::deadlock) continue;
      finding.diagnostic.where = fmt::format("instruction {}", finding.instruction);
      lines.push_back(to_string(finding.diagnostic));
    }
    std::sort(lines.begin(), lines.end());
    if (!lines.empty()) return fmt::format("{}", fmt::join(lines, "\n"));
  }
  return {};
}

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n", at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void agree_on(std::vector<Engine>& all, const GeneratedProgram& program) {
  const std::string expected = verdict(program);
  for (Engine& engine : all) {
    INFO(engine.name << ", " << describe(program));
    REQUIRE(sorted_lines(outcome(*engine.simulator, program)) == expected);
  }
}

GeneratedProgram assembled(const isa::HardwareConfig& config, const std::string& text) {
  const auto assembly = isa::parse_assembly(text, "test", config);
  INFO((assembly.ok() ? "" : to_string(assembly.errors())));
  REQUIRE(assembly.ok());
  return {.config = config,
          .program = assembly->program,
          .launches = {{0, assembly->program.size()}},
          .dram = std::vector<std::byte>(4096)};
}

std::string lines(int count, const std::string& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line + "\n";
  return text;
}

// Each of two neighbors pushes `count` tokens before it pops those of the other.
std::string crossed(int count) {
  return lines(count, "nop.inp push_next") + lines(count, "finish push_prev") + lines(count, "nop.inp pop_next") +
         lines(count, "finish pop_prev");
}
std::string crossed(int count, const std::string& pushes, const std::string& pops) {
  return lines(count, pushes + " push_next") + lines(count, "nop.out push_prev") + lines(count, pops + " pop_next") +
         lines(count, "nop.out pop_prev");
}

constexpr const char* kGemm = "gemm uop=0:0 iter=0x0";
constexpr const char* kAdd = "alu.add uop=0:0 iter=0x0 imm=1";
constexpr const char* kMul = "alu.mul uop=0:0 iter=0x0 imm=1";

}  // namespace

TEST_CASE("a unit takes the next instruction's tokens while the one before waits to push, on every engine") {
  const isa::HardwareConfig config = tiny();
  std::vector<Engine> all = engines_with(config, Rtl::included);
  const GeneratedProgram program = assembled(config, crossed(3));
  CHECK(verdict(program) == "");
  agree_on(all, program);
  for (Engine& engine : all)
    if (const simulator::LaunchTrace* timing = engine.simulator->timing();
        timing != nullptr && engine.name != "rtl, any slave") {
      INFO(engine.name);
      CHECK(timing->cycles == 217);
    }
}

TEST_CASE("the instructions that a unit takes while one waits to push are the same on every engine") {
  const isa::HardwareConfig config = tiny();
  std::vector<Engine> all = engines_with(config, Rtl::included);
  const auto check = [&](const std::string& text, bool ends) {
    const GeneratedProgram program = assembled(config, text);
    INFO(text);
    CHECK((verdict(program) == "") == ends);
    agree_on(all, program);
  };
  // FIFOs of 2. Of n loads n - 2 wait to push, and as many must start after them: load_waiting and the drainer's.
  check(crossed(4), true);
  check(crossed(5), false);
  // GEMMs and ALUs: compute_in_flight of one kind.
  check(crossed(2, kGemm, kMul), true);
  for (const char* kind : {kGemm, kAdd, kMul}) {
    check(crossed(6, kind, kind), true);
    check(crossed(7, kind, kind), false);
    check(crossed(3, kind, "finish"), false);
    check(crossed(3, "finish", kind), false);
    for (const char* other : {kGemm, kAdd, kMul})
      if (other != kind) check(crossed(3, kind, other), false);
  }
  // Loads after the load that waits to push need room in the beat buffer for all beats that they request: 8.
  const auto after_waiting_loads = [](const std::string& load) {
    return lines(3, "nop.inp push_next") + load + lines(3, "nop.inp pop_next") + lines(3, "finish push_prev") +
           lines(3, "finish pop_prev");
  };
  check(after_waiting_loads("load.inp sram=0 dram=0x10 size=1x16 stride=16\n"), true);
  check(after_waiting_loads("load.inp sram=0 dram=0x11 size=1x16 stride=16\n"),
        false);  // a beat more, as it begins within one
  check(after_waiting_loads("load.inp sram=0 dram=0x10 size=2x7 stride=8\n"), true);
  check(after_waiting_loads("load.inp sram=0 dram=0x11 size=2x7 stride=9\n"), true);
  check(after_waiting_loads("load.inp sram=0 dram=0x10 size=2x8 stride=9\n"), false);
  check(
      after_waiting_loads("load.wgt sram=0 dram=0x10 size=1x4 stride=4\nload.wgt sram=4 dram=0x10 size=1x1 stride=1\n"),
      false);
}

TEST_CASE("tokens that a launch leaves over are an error on every engine, and the next launch works") {
  const isa::HardwareConfig config = tiny();
  std::vector<Engine> all = engines_with(config, Rtl::included);
  const GeneratedProgram program = assembled(config, "nop.inp push_next\nfinish push_next\nnop.inp push_next\n");
  CHECK_THAT(verdict(program), ContainsSubstring("2 tokens left over in load -> compute (instruction 0)") &&
                                   ContainsSubstring("1 token left over in compute -> store (instruction 1)"));
  const GeneratedProgram right = assembled(config, "nop.inp push_next\nfinish pop_prev\n");
  const GeneratedProgram waits = assembled(config, "finish pop_prev\n");
  for (int i = 0; i < 2; ++i)
    for (const GeneratedProgram* each : {&program, &right, &program, &waits, &right}) agree_on(all, *each);
}

TEST_CASE("the design's registers report leftover tokens when the launch has ended") {
  const isa::HardwareConfig config = tiny();
  simulator::RtlOptions options;
  options.model = rtl_model(config);
  if (!options.model) return;
  const auto rtl = simulator::make_rtl(config, options).value();
  const auto offset = [](std::string_view name) {
    for (const isa::spec::Register& row : isa::spec::kRegisters)
      if (row.name == name) return row.offset;
    throw std::runtime_error("no register " + std::string(name));
  };
  const GeneratedProgram program = assembled(config,
                                             "nop.inp push_next\nnop.inp push_next\nfinish push_prev\nfinish "
                                             "push_next\nfinish push_next\nnop.out push_prev\n");
  Dram dram{0, program.dram};
  REQUIRE(rtl->write_register(offset("INTERRUPT_STATUS"), 3));
  REQUIRE(rtl->write_register(offset("INTERRUPT_ENABLE"), 2));
  REQUIRE_FALSE(rtl->launch(program.program, dram, 5).ok());
  CHECK(rtl->interrupt());
  CHECK(rtl->read_register(offset("INTERRUPT_STATUS")) == 2);
  CHECK(rtl->read_register(offset("STATUS")) ==
        (static_cast<std::uint32_t>(isa::spec::ErrorCode::leftover_tokens) << 4 | 4));
  CHECK(rtl->read_register(offset("ERROR_INSTRUCTION")) == 5 + program.program.size());
  CHECK(rtl->read_register(offset("TOKENS_LOAD")) == (1u << 16 | 2u));
  CHECK(rtl->read_register(offset("TOKENS_STORE")) == (1u << 16 | 2u));
  // The launch ends, and only then is the error raised: CYCLES and classes of cycles are as always.
  const auto cycle = simulator::make_cycle(config);
  REQUIRE_FALSE(cycle->launch(program.program, dram, 5).ok());
  REQUIRE(rtl->timing() != nullptr);
  REQUIRE(cycle->timing() != nullptr);
  CHECK(rtl->timing()->cycles == rtl->read_register(offset("CYCLES_LO")).value());
  CHECK(rtl->timing()->cycles == cycle->timing()->cycles);
  CHECK(rtl->timing()->classes == cycle->timing()->classes);
  const std::vector<isa::Instruction> same(program.program.size(), isa::Instruction{{}, isa::Finish{}});
  REQUIRE(rtl->launch(same, dram).ok());
  CHECK(rtl->read_register(offset("STATUS")) == 2);
  CHECK(rtl->read_register(offset("TOKENS_LOAD")) == 0);
  CHECK_FALSE(rtl->read_register(offset("INTERRUPT_STATUS")) == 0);
}

TEST_CASE("random programs with wrong tokens: every engine gives verify's verdict") {
  std::size_t wrong = 0, right = 0;
  for (std::uint64_t seed = 0; seed < scaled(400); ++seed) {
    const isa::HardwareConfig config = seed % 2 == 0 ? random_config(seed) : shallow_config(seed);
    std::vector<Engine> all = engines_with(config, Rtl::left_out);
    const GeneratedProgram program = token_program(config, seed, 40);
    agree_on(all, program);
    (verdict(program).empty() ? right : wrong) += 1;
  }
  CHECK(wrong * 4 >= scaled(400));
  CHECK(right * 10 >= scaled(400));
}

TEST_CASE("random programs with wrong tokens: the design gives verify's verdict") {
  const isa::HardwareConfig config = tiny();
  std::vector<Engine> all = engines_with(config, Rtl::included);
  for (std::uint64_t seed = 0; seed < scaled(200); ++seed) agree_on(all, token_program(config, seed, 30));
}

}  // namespace dovetail::test
