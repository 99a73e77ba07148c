#include "tests/torture/torture.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "isa/offset.h"
#include "isa/verify.h"
#include "tests/torture/counter_laws.h"
#include "tests/torture/sram_model.h"
#include "tests/torture/traces.h"

namespace dovetail::test {

namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(*byte));
  return text;
}

// Runs the launches one by one on all engines, each of which has its own memory.
class Run {
 public:
  Run(const GeneratedProgram& program, const TortureCase& how, EngineSet& engines)
      : program_(program),
        how_(how),
        engines_(engines),
        sram_(program.config),
        expected_{program.dram_base, program.dram},
        by_semantics_(expected_),
        on_cycle_(expected_),
        on_systemc_(expected_),
        on_rtl_(expected_) {
    set_offset(engines, program.offset);
  }

  // Returns the difference, if any. Afterwards the cycle simulator's timing() is that of this launch.
  std::optional<std::string> launch(const isa::Launch& launch) {
    const auto part = std::span<const isa::Instruction>(program_.program).subspan(launch.begin, launch.count);
    const auto expected = engines_.functional->launch(part, expected_, launch.begin);
    if (!expected.ok()) return "the functional simulator: " + to_string(expected.errors());
    sram_.launch(isa::at_offset(program_.config, part, program_.offset), by_semantics_);
    if (by_semantics_.bytes != expected_.bytes) return "isa/semantics and the functional simulator differ";
    simulator::Counters by_cycle, counted;
    if (auto wrong = run(*engines_.cycle, launch, on_cycle_, *expected, true, by_cycle)) return wrong;
    if (auto wrong = check_trace(program_, launch, *engines_.cycle->timing())) return wrong;
    if (engines_.systemc) {
      if (auto wrong = run(*engines_.systemc, launch, on_systemc_, *expected, true, counted)) return wrong;
      if (auto wrong = compare("SystemC", *engines_.systemc, counted, by_cycle)) return wrong;
    }
    if (!engines_.rtl) return std::nullopt;
    if (auto wrong = run(*engines_.rtl, launch, on_rtl_, *expected, !how_.slave, counted)) return wrong;
    if (!how_.slave)
      if (auto wrong = compare("RTL", *engines_.rtl, counted, by_cycle)) return wrong;
    return compare_sram(launch);
  }

 private:
  // `memory`: the engine's times are those of the memory model.
  std::optional<std::string> run(simulator::Simulator& engine, const isa::Launch& launch, simulator::Dram& dram,
                                 const simulator::Counters& expected, bool by_memory, simulator::Counters& counted) {
    const auto part = std::span<const isa::Instruction>(program_.program).subspan(launch.begin, launch.count);
    const auto counters = engine.launch(part, dram, launch.begin);
    if (!counters.ok()) return fmt::format("engine {}: {}", engine.name(), to_string(counters.errors()));
    counted = *counters;
    if (without_time(counted) != expected)
      return fmt::format("engine {} counts otherwise than the functional simulator: {}", engine.name(),
                         difference(counted, expected));
    const std::uint64_t cycles = engine.timing()->cycles;
    if (auto broken =
            broken_law(program_.config, how_.memory, counted, by_memory ? std::optional(cycles) : std::nullopt))
      return fmt::format("the counters of engine {} break a law: {}", engine.name(), *broken);
    for (std::size_t i = 0; i < expected_.bytes.size(); ++i)
      if (dram.bytes[i] != expected_.bytes[i])
        return fmt::format("engine {}: after launch {}:{} byte {:#x} of DRAM is {:02x}, not {:02x}", engine.name(),
                           launch.begin, launch.count, program_.dram_base + i, std::to_integer<unsigned>(dram.bytes[i]),
                           std::to_integer<unsigned>(expected_.bytes[i]));
    return std::nullopt;
  }

  // Compares times and counters with the cycle simulator's.
  std::optional<std::string> compare(std::string_view engine, const simulator::Simulator& simulator,
                                     const simulator::Counters& counted, const simulator::Counters& on_cycle) const {
    if (counted != on_cycle)
      return fmt::format("{} counts otherwise than the cycle simulator: {}", engine, difference(counted, on_cycle));
    return compare_times(engine, *simulator.timing(), *engines_.cycle->timing());
  }

  std::optional<std::string> compare_sram(const isa::Launch& launch) const {
    for (const isa::Memory memory : {isa::Memory::uop, isa::Memory::wgt, isa::Memory::inp, isa::Memory::acc})
      for (std::uint64_t i = 0; i < sram_.depth(memory); ++i) {
        const auto element = sram_.element(memory, i);
        if (element.empty()) continue;
        if (const auto found = engines_.rtl->sram_element(memory, i); !std::ranges::equal(found, element))
          return fmt::format("after launch {}:{} element {} of memory {} is {}, not {}", launch.begin, launch.count, i,
                             static_cast<int>(memory), hex(found), hex(element));
      }
    return std::nullopt;
  }

  const GeneratedProgram& program_;
  const TortureCase& how_;
  EngineSet& engines_;
  SramModel sram_;
  simulator::Dram expected_, by_semantics_, on_cycle_, on_systemc_, on_rtl_;
};

}  // namespace

std::optional<std::string> torture(const GeneratedProgram& program, const TortureCase& how, const Engines& engines,
                                   std::vector<simulator::LaunchTrace>* trace) {
  auto made = make_engines(program.config, how, engines);
  if (!made.ok()) return to_string(made.errors());
  EngineSet set = *std::move(made);
  Run run(program, how, set);
  for (const isa::Launch& launch : program.launches) {
    if (auto wrong = run.launch(launch)) return wrong;
    if (trace != nullptr) trace->push_back(*set.cycle->timing());
  }
  return std::nullopt;
}

GeneratedProgram minimized(const GeneratedProgram& program, const TortureCase& how, const Engines& engines) {
  return shrink(program, [&](const GeneratedProgram& candidate) {
    const auto report = isa::verify(candidate.config, candidate.program, candidate.verify_options());
    return report.clean() && torture(candidate, how, engines).has_value();
  });
}

std::string explain(const GeneratedProgram& program, const TortureCase& how, const Engines& engines) {
  return fmt::format("{}\n{}\n{}", torture(program, how, engines).value_or("it does not fail any more"), describe(how),
                     describe(program));
}

}  // namespace dovetail::test
