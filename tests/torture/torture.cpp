#include "tests/torture/torture.h"

#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/spec/alu_ops.h"
#include "isa/verify.h"
#include "isa/verify/token_machine.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/rtl.h"
#include "tests/generator/random.h"
#include "tests/torture/counter_laws.h"
#include "tests/torture/sram_model.h"

namespace dovetail::test {

namespace {

simulator::MemorySpec random_memory(Random& random) {
  switch (random.below(4)) {
    case 0:
      return simulator::IdealMemory{.latency = static_cast<std::int64_t>(random.between(1, 100)),
                                    .bytes_per_cycle = static_cast<std::int64_t>(random.pick({0, 1, 3, 8, 16})),
                                    .outstanding = static_cast<std::int64_t>(random.between(1, 16))};
    case 1: {
      simulator::BankMemory bank{.standard = simulator::kDramStandards[random.below(simulator::kDramStandards.size())]};
      bank.clock_ps = static_cast<std::int64_t>(random.pick({500, 1000, 2000, 5000}));
      bank.controller_cycles = static_cast<std::int64_t>(random.below(10));
      return bank;
    }
    default:
      return simulator::PerturbedMemory{.base = {.latency = static_cast<std::int64_t>(random.between(1, 40)),
                                                 .bytes_per_cycle = 0,
                                                 .outstanding = static_cast<std::int64_t>(random.between(1, 16))},
                                        .seed = random.below(1 << 30),
                                        .most_latency = static_cast<std::int64_t>(random.below(120)),
                                        .most_refusal = static_cast<std::int64_t>(random.below(20))};
  }
}

std::span<const isa::Instruction> instructions(const GeneratedProgram& program, const isa::Launch& launch) {
  return std::span(program.program).subspan(launch.begin, launch.count);
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(*byte));
  return text;
}

// Every instruction is issued, started and ended once, in order, and every cycle of a unit is in one class.
std::optional<std::string> check_trace(const GeneratedProgram& program, const isa::Launch& launch,
                                       const simulator::LaunchTrace& trace) {
  std::array<std::optional<simulator::TraceEvent>, 3> before;
  std::uint64_t last = 0, issued = 0;
  for (const simulator::TraceEvent& event : trace.events) {
    const std::size_t unit = isa::index(event.unit);
    if (event.unit != program.program[event.instruction].queue())
      return fmt::format("instruction {} ran in another unit", event.instruction);
    if (event.issue <= issued && event.instruction != launch.begin)
      return fmt::format("instruction {} was issued out of order", event.instruction);
    if (event.start <= event.issue || event.end <= event.start)
      return fmt::format("instruction {}: issue, start and end do not ascend", event.instruction);
    if (before[unit] && (event.start <= before[unit]->start || event.end <= before[unit]->end))
      return fmt::format("instruction {} overtook the one before it in its unit", event.instruction);
    before[unit] = event;
    issued = event.issue;
    last = std::max(last, event.end);
  }
  if (trace.cycles != std::max<std::uint64_t>(1, last + 1))
    return fmt::format("{} cycles, but the last end is in {}", trace.cycles, last);
  for (const auto& classes : trace.classes) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : classes) sum += count;
    if (sum != trace.cycles) return fmt::format("classes of cycles sum to {}, not to {}", sum, trace.cycles);
  }
  return std::nullopt;
}

std::string text(const simulator::TraceEvent& event) {
  return fmt::format("issue {}, start {} ({}), end {}", event.issue, event.start,
                     simulator::kStallCauseNames[static_cast<std::size_t>(event.cause)], event.end);
}

// The cycle simulator's trace against the design's: every event, every class, and what waits for memory were for.
std::optional<std::string> compare_times(const simulator::LaunchTrace& rtl, const simulator::LaunchTrace& cycle) {
  for (std::size_t i = 0; i < rtl.events.size(); ++i)
    if (!(rtl.events[i] == cycle.events.at(i)))
      return fmt::format("instruction {}: RTL has {}; the cycle simulator {}", rtl.events[i].instruction,
                         text(rtl.events[i]), text(cycle.events[i]));
  if (rtl.cycles != cycle.cycles)
    return fmt::format("RTL takes {} cycles, the cycle simulator {}", rtl.cycles, cycle.cycles);
  for (std::size_t unit = 0; unit < rtl.classes.size(); ++unit)
    for (std::size_t c = 0; c < rtl.classes[unit].size(); ++c)
      if (rtl.classes[unit][c] != cycle.classes[unit][c])
        return fmt::format("unit {}, class {}: {} cycles in RTL, {} in the cycle simulator",
                           isa::name(static_cast<isa::Queue>(unit)), simulator::kUnitClassNames[c],
                           rtl.classes[unit][c], cycle.classes[unit][c]);
  if (!rtl.waits || !cycle.waits) return "one of them does not report what waits for memory were for";
  if (rtl.waits == cycle.waits) return std::nullopt;
  const auto names = [](const simulator::MemorySplit& split) {
    std::string text;
    for (std::size_t c = 0; c < split.cycles.size(); ++c)
      text += fmt::format(" {} {}", simulator::kMemoryCauseNames[c], split.cycles[c]);
    return text;
  };
  for (std::size_t i = 0; i < rtl.events.size(); ++i)
    if (rtl.waits->instructions[i] != cycle.waits->instructions[i])
      return fmt::format("instruction {} waits for memory:{} in RTL,{} in the cycle simulator",
                         rtl.events[i].instruction, names(rtl.waits->instructions[i]),
                         names(cycle.waits->instructions[i]));
  return fmt::format("what fetch did, or the traffic: memory{} in RTL,{} in the cycle simulator",
                     names(rtl.waits->fetch.memory), names(cycle.waits->fetch.memory));
}

}  // namespace

TortureCase torture_case(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  TortureCase result{
      .seed = seed, .program = {.seed = seed}, .memory = random_memory(random), .power_up_seed = random.bits() | 1};
  result.program.size = random.pick<std::size_t>({10, 80, 200});
  result.program.extra_percent = random.pick({0u, 15u, 60u});
  result.program.max_steps = random.pick<std::uint64_t>({40, 160});
  if (random.chance(25)) result.slave = simulator::any_axi_slave(random.bits());
  return result;
}

std::string describe(const TortureCase& how) {
  return fmt::format("seed {}, {}, power-up {}", how.seed, how.slave ? to_string(*how.slave) : to_string(how.memory),
                     how.power_up_seed);
}

std::optional<std::string> torture(const GeneratedProgram& program, const TortureCase& how,
                                   const std::optional<std::filesystem::path>& model,
                                   std::vector<simulator::LaunchTrace>* trace) {
  const auto functional = simulator::make_functional(program.config);
  simulator::RtlOptions options;
  options.engine.memory = how.memory;
  options.engine.trace = true;
  options.power_up_seed = how.power_up_seed;
  options.slave = how.slave;
  options.model = model;
  auto made = simulator::make_rtl(program.config, options);
  if (!made.ok()) return to_string(made.errors());
  const std::unique_ptr<simulator::RtlSimulator> rtl = *std::move(made);
  const auto cycle = simulator::make_cycle(program.config, options.engine);
  SramModel sram(program.config);
  simulator::Dram expected{program.dram_base, program.dram}, actual = expected, modelled = expected, timed = expected;
  for (const isa::Launch& launch : program.launches) {
    const auto wanted = functional->launch(instructions(program, launch), expected, launch.begin);
    if (!wanted.ok()) return "the functional simulator: " + to_string(wanted.errors());
    const auto counters = rtl->launch(instructions(program, launch), actual, launch.begin);
    if (!counters.ok()) return to_string(counters.errors());
    if (without_time(*counters) != *wanted)
      return "RTL counts otherwise than the functional simulator: " + difference(*counters, *wanted);
    const std::uint64_t cycles = rtl->timing()->cycles;
    if (auto broken =
            broken_law(program.config, how.memory, *counters, how.slave ? std::nullopt : std::optional(cycles)))
      return "the counters break a law: " + *broken;
    sram.launch(instructions(program, launch), modelled);
    if (modelled.bytes != expected.bytes) return "isa/semantics and the functional simulator differ";
    if (!how.slave) {
      if (auto wrong = check_trace(program, launch, *rtl->timing())) return wrong;
      const auto timing = cycle->launch(instructions(program, launch), timed, launch.begin);
      if (!timing.ok()) return "the cycle simulator: " + to_string(timing.errors());
      if (*timing != *counters)
        return "RTL counts otherwise than the cycle simulator: " + difference(*counters, *timing);
      if (auto wrong = compare_times(*rtl->timing(), *cycle->timing())) return wrong;
    }
    if (trace != nullptr && !how.slave) trace->push_back(*rtl->timing());

    for (std::size_t i = 0; i < expected.bytes.size(); ++i)
      if (actual.bytes[i] != expected.bytes[i])
        return fmt::format("after launch {}:{} byte {:#x} of DRAM is {:02x}, not {:02x}", launch.begin, launch.count,
                           program.dram_base + i, std::to_integer<unsigned>(actual.bytes[i]),
                           std::to_integer<unsigned>(expected.bytes[i]));
    for (const isa::Memory memory : {isa::Memory::uop, isa::Memory::wgt, isa::Memory::inp, isa::Memory::acc})
      for (std::uint64_t i = 0; i < sram.depth(memory); ++i) {
        const auto element = sram.element(memory, i);
        if (element.empty()) continue;
        if (const auto found = rtl->sram_element(memory, i); !std::ranges::equal(found, element))
          return fmt::format("after launch {}:{} element {} of memory {} is {}, not {}", launch.begin, launch.count, i,
                             static_cast<int>(memory), hex(found), hex(element));
      }
  }
  return std::nullopt;
}

std::string minimised(const GeneratedProgram& program, const TortureCase& how,
                      const std::optional<std::filesystem::path>& model) {
  const GeneratedProgram small = shrink(program, [&](const GeneratedProgram& candidate) {
    const auto report = isa::verify(candidate.config, candidate.program, candidate.verify_options());
    return report.clean() && torture(candidate, how, model).has_value();
  });
  return fmt::format("{}\n{}\n{}", torture(small, how, model).value_or("it does not fail any more"), describe(how),
                     describe(small));
}

// ---- Coverage
// ---------------------------------------------------------------------------------------------------------------------------

void TortureCoverage::add_transfer(const isa::HardwareConfig& config, const isa::Instruction& instruction) {
  const auto* load = std::get_if<isa::Load>(&instruction.body);
  const isa::Transfer& transfer =
      load != nullptr ? static_cast<const isa::Transfer&>(*load) : std::get<isa::Store>(instruction.body);
  if (transfer.x_size == 0 || transfer.y_size == 0) return;
  const std::string name = load != nullptr ? "read" : "write";
  const auto bytes = static_cast<std::uint64_t>(config.element_bytes(transfer.memory)),
             bus = static_cast<std::uint64_t>(config.bus_bytes);
  const std::uint64_t longest =
      bus * static_cast<std::uint64_t>(std::min(config.burst_beats, config.outstanding_beats));
  for (std::uint64_t y = 0; y < transfer.y_size; ++y) {
    const std::uint64_t begin = (transfer.dram_base + y * transfer.x_stride) * bytes,
                        end = begin + transfer.x_size * bytes;
    if (begin % bus != 0) ++bins_[name + " row unaligned at its head"];
    if (end % bus != 0) ++bins_[name + " row unaligned at its tail"];
    bins_[name + " row in several bursts"] += (end - 1) / longest != begin / longest && end - begin > longest;
    bins_[name + " row across 4 KiB"] += begin / 4096 != (end - 1) / 4096;
  }
}

void TortureCoverage::add_loop(const isa::HardwareConfig&, const isa::UopLoop& loop, bool alu, bool is_long,
                               bool vector, const std::vector<isa::Uop>& uops) {
  std::optional<std::uint64_t> dst_before, src_before;
  for (std::uint64_t y = 0; y < loop.iter_out; ++y)
    for (std::uint64_t x = 0; x < loop.iter_in; ++x)
      for (std::uint32_t k = loop.uop_begin; k < loop.uop_end; ++k) {
        const std::uint64_t dst = uops[k].dst + y * loop.dst_factor_out + x * loop.dst_factor_in;
        const std::uint64_t src = uops[k].src + y * loop.src_factor_out + x * loop.src_factor_in;
        if (dst_before) {
          const bool repeated = alu && vector && src == *src_before && *dst_before != src;
          if (!alu) bins_["gemm forwards to the next step"] += dst == *dst_before;
          else if (!is_long) {
            bins_["alu forwards a destination"] += dst == *dst_before;
            if (vector) bins_["alu forwards to a source"] += src == *dst_before;
          } else {
            bins_["alu interlock"] += *dst_before == (vector && !repeated ? src : dst);
          }
          if (alu && vector) {
            bins_["alu operand repeated"] += repeated;
            bins_["alu operand repeated, but written"] += src == *src_before && *dst_before == src;
          }
        }
        dst_before = dst, src_before = src;
      }
}

void TortureCoverage::add(const GeneratedProgram& program, const std::vector<simulator::LaunchTrace>& trace) {
  programs_.add(program);
  for (const char* name : {"read", "write"}) {
    // Elements that fill beats have aligned rows.
    const auto smallest = program.config.element_bytes(*name == 'r' ? isa::Memory::uop : isa::Memory::out);
    if (smallest < program.config.bus_bytes)
      for (const char* end : {"head", "tail"}) bins_[fmt::format("{} row unaligned at its {}", name, end)];
    for (const char* bin : {"row in several bursts", "row across 4 KiB"}) bins_[fmt::format("{} {}", name, bin)];
  }
  for (const char* bin : {"gemm forwards to the next step", "alu forwards a destination", "alu forwards to a source",
                          "alu interlock", "alu operand repeated", "alu operand repeated, but written"})
    bins_[bin];
  // Causes and classes that a unit can have.
  for (const auto& [unit, causes] : {std::pair{"load", "fetch none unit drain token_next"},
                                     {"compute", "fetch none unit drain token_prev token_next"},
                                     {"store", "fetch unit token_prev"}})
    for (std::string_view rest = causes; !rest.empty();
         rest.remove_prefix(std::min(rest.size(), rest.find(' ') == rest.npos ? rest.size() : rest.find(' ') + 1)))
      bins_[fmt::format("{} waits for {}", unit, rest.substr(0, rest.find(' ')))];
  for (const auto& [unit, classes] : {std::pair{"load", "work memory push pipeline token fetch hand_over"},
                                      {"compute", "work interlock memory push pipeline token fetch"},
                                      {"store", "work memory push pipeline token fetch"}})
    for (std::string_view rest = classes; !rest.empty();
         rest.remove_prefix(std::min(rest.size(), rest.find(' ') == rest.npos ? rest.size() : rest.find(' ') + 1)))
      bins_[fmt::format("{} cycle {}", unit, rest.substr(0, rest.find(' ')))];

  std::vector<isa::Uop> uops(static_cast<std::size_t>(program.config.depth(isa::Memory::uop)));
  const isa::Codec codec(program.config);
  const auto uop_bytes = static_cast<std::uint64_t>(program.config.uop_bytes());
  for (const isa::Instruction& instruction : program.program) {
    if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
      add_transfer(program.config, instruction);
      if (load->memory != isa::Memory::uop || load->x_size == 0) continue;
      const std::uint64_t columns = load->x_pad_0 + load->x_size + load->x_pad_1;
      for (std::uint64_t i = 0; i < (load->y_pad_0 + load->y_size + load->y_pad_1) * columns; ++i) {
        const std::uint64_t y = i / columns - load->y_pad_0, x = i % columns - load->x_pad_0;
        const bool data = y < load->y_size && x < load->x_size;
        uops[load->sram_base + i] =
            !data ? isa::Uop{}
                  : codec.decode_uop(
                        std::span(program.dram)
                            .subspan((load->dram_base + y * load->x_stride + x) * uop_bytes - program.dram_base,
                                     uop_bytes));
      }
    } else if (std::holds_alternative<isa::Store>(instruction.body)) {
      add_transfer(program.config, instruction);
    } else if (const auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) {
      if (!gemm->reset && !gemm->overwrite) add_loop(program.config, *gemm, false, false, false, uops);
    } else if (const auto* alu = std::get_if<isa::Alu>(&instruction.body)) {
      add_loop(program.config, *alu, true, isa::spec::info(alu->op).kind == isa::spec::AluKind::alu_long,
               isa::spec::source_elements(*alu) != 0, uops);
    }
  }
  for (const simulator::LaunchTrace& launch : trace) {
    cycles_ += launch.cycles;
    for (const simulator::TraceEvent& event : launch.events)
      ++bins_[fmt::format("{} waits for {}", isa::name(event.unit),
                          simulator::kStallCauseNames[static_cast<std::size_t>(event.cause)])];
    for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store})
      for (std::size_t c = 0; c < simulator::kUnitClassNames.size(); ++c)
        if (const std::uint64_t count = launch.classes[isa::index(unit)][c]; count != 0)
          bins_[fmt::format("{} cycle {}", isa::name(unit), simulator::kUnitClassNames[c])] += count;
  }
}

std::vector<std::string> TortureCoverage::missing() const {
  std::vector<std::string> names = programs_.missing();
  for (const auto& [bin, count] : bins_)
    if (count == 0) names.push_back(bin);
  return names;
}

std::string TortureCoverage::report() const {
  std::string text = programs_.report();
  for (const auto& [bin, count] : bins_) text += fmt::format("  {:6}    {}\n", count, bin);
  return text;
}

}  // namespace dovetail::test
