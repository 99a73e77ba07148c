#include "explore/energy/energy.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"

namespace dovetail::explore {

namespace {

constexpr double kPico = 1e-12;

double as_double(std::uint64_t number) { return static_cast<double>(number); }
double as_double(std::int64_t number) { return static_cast<double>(number); }

// An on-chip memory with one read and one write port.
struct ChipMemory {
  double words = 0, word_bits = 0;
  double bits() const { return words * word_bits; }
};

// docs/reference/events.md, «Memories on chip».
ChipMemory sram_shape(const isa::HardwareConfig& config, isa::Memory memory) {
  const auto elements = as_double(config.depth(memory));
  switch (memory) {
    case isa::Memory::uop: return {elements, as_double(8 * config.uop_bytes())};
    case isa::Memory::wgt:
    case isa::Memory::wgt4: return {elements, as_double(8 * config.block_out * config.block_in)};
    case isa::Memory::inp: return {elements, as_double(8 * config.batch * config.block_in)};
    case isa::Memory::acc:
    case isa::Memory::acc8: return {elements, as_double(32 * config.batch * config.block_out)};
    case isa::Memory::out: return {elements, as_double((config.saturate ? 16 : 8) * config.batch * config.block_out)};
    case isa::Memory::tab: {  // a copy for each lane, in words of a beat
      const std::int64_t beat = config.bus_bytes;
      return {as_double(config.element_bytes(memory) / beat), as_double(8 * beat * config.batch * config.block_out)};
    }
  }
  return {};
}
ChipMemory command_queue(const isa::HardwareConfig& config) {
  return {as_double(config.command_queue_depth), as_double(8 * config.instruction_bytes() + 32)};
}
ChipMemory read_buffer(const isa::HardwareConfig& config) {
  return {as_double(config.outstanding_beats), as_double(8 * config.bus_bytes + 2)};
}
ChipMemory store_buffer(const isa::HardwareConfig& config) {
  return {as_double(config.outstanding_beats), as_double(9 * config.bus_bytes)};
}

// Sums picojoules by component, and the leakage of the memories.
class Sum {
 public:
  Sum(const EnergyTable& table, const RunTime& time)
      : table_(table), samples_(as_double(time.samples())), accelerators_(as_double(time.accelerators)) {}

  // `picojoules`: energy of the events that the counters count.
  void add(std::string component, bool on_chip, double picojoules) {
    energy_.parts.push_back({std::move(component), on_chip, picojoules * samples_ * kPico});
  }
  // `picojoules`: energy of one accelerator's time.
  void add_time(std::string component, double picojoules) {
    energy_.parts.push_back({std::move(component), true, picojoules * accelerators_ * kPico});
  }
  // Adds energy of the memory that all accelerators share.
  void add_shared(std::string component, double picojoules) {
    energy_.parts.push_back({std::move(component), false, picojoules * kPico});
  }
  double accesses(const ChipMemory& memory, const simulator::Accesses& accesses) {
    leakage_mw_ += table_.sram.leakage_mw(memory.bits(), memory.word_bits);
    return as_double(accesses.reads) * table_.sram.read_pj(memory.bits(), memory.word_bits) +
           as_double(accesses.writes) * table_.sram.write_pj(memory.bits(), memory.word_bits);
  }
  void missing(std::string what) { energy_.missing.push_back(std::move(what)); }
  void state(std::string origin) { origin_ = std::move(origin); }
  double memory_leakage_mw() const { return leakage_mw_; }

  Energy take() {
    for (const Energy::Part& part : energy_.parts) energy_.joules += part.joules;
    energy_.statement = table_.statement();
    if (!origin_.empty()) energy_.statement += "; " + origin_;
    return std::move(energy_);
  }

 private:
  const EnergyTable& table_;
  double samples_, accelerators_;
  Energy energy_;
  std::string origin_;  // of the energies that are not in the table
  double leakage_mw_ = 0;
};

void add_work(Sum& sum, const simulator::Counters& counters, const isa::HardwareConfig& config,
              const EnergyCosts& costs) {
  sum.add("MAC", true, as_double(counters.macs) * costs.mac);
  double alu = 0;
  for (std::size_t op = 0; op < costs.alu.size(); ++op) alu += as_double(counters.alu_uops_by_op[op]) * costs.alu[op];
  alu += as_double(counters.epilogue_uops) * costs.alu[static_cast<std::size_t>(isa::AluOp::requant)];
  alu += as_double(counters.epilogue_lookups) * costs.alu[static_cast<std::size_t>(isa::AluOp::table)];
  sum.add("ALU", true, alu * as_double(config.batch * config.block_out));
}

void add_memories(Sum& sum, const simulator::Counters& counters, const isa::HardwareConfig& config) {
  for (const isa::Memory memory : simulator::kSrams)
    if (isa::spec::is_enabled(isa::spec::info(memory), config))
      sum.add(fmt::format("SRAM {}", isa::spec::info(memory).name), true,
              sum.accesses(sram_shape(config, memory), counters.sram_of(memory)));
  double queues = 0, buffers = 0;
  for (const std::uint64_t instructions : counters.queue_instructions)
    queues += sum.accesses(command_queue(config), {.reads = instructions, .writes = instructions});
  for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store})
    buffers += sum.accesses(unit == isa::Queue::store ? store_buffer(config) : read_buffer(config),
                            counters.port[isa::index(unit)].buffer);
  buffers += sum.accesses(read_buffer(config), counters.fetch ? counters.fetch->buffer : simulator::Accesses{});
  sum.add("command queues", true, queues);
  sum.add("beat buffers", true, buffers);
}

void add_time(Sum& sum, const std::optional<RunTime>& time, const EnergyCosts& costs,
              const std::optional<LogicSize>& logic) {
  if (!time) {
    sum.missing("the clock, leakage and standby, since the engine has no clock; --engine cycle has one");
    return;
  }
  const double mw_to_pj = time->seconds() * 1e9;  // 1 mW for a second: 1e9 pJ
  sum.add_time("leakage of SRAM", sum.memory_leakage_mw() * mw_to_pj);
  if (!logic) {
    sum.missing("the clock of the flip-flops and the leakage of the logic, since the size of the logic is not known");
    return;
  }
  sum.add_time("clock", as_double(time->cycles) * logic->flip_flops * costs.flip_flop_cycle);
  sum.add_time("leakage of logic",
               (logic->gates * costs.gate_nw + logic->flip_flops * costs.flip_flop_nw) * 1e-6 * mw_to_pj);
}

// The energies of a DRAM: those of a user's file, or of the table's rows for a preset.
simulator::DramEnergy energies_of(const simulator::DramStandard& standard, const EnergyCosts& costs) {
  if (!standard.file.empty()) return standard.energy;
  const auto& presets = simulator::dram_standards();
  const auto preset = std::ranges::find(presets, standard.name, &simulator::DramStandard::name);
  return preset == presets.end() ? simulator::DramEnergy{}
                                 : costs.dram[static_cast<std::size_t>(preset - presets.begin())];
}

// The names of the energies that are not known, with commas.
std::string unknown_events(const simulator::DramEnergy& energy) {
  std::vector<std::string_view> unknown;
  for (const simulator::DramEnergyInfo& info : simulator::kDramEnergies)
    if (!(energy.*info.value)) unknown.push_back(info.key);
  return fmt::format("{}", fmt::join(unknown, ", "));
}

void add_commands(Sum& sum, const simulator::DramCommands& commands, const simulator::BankMemory& bank,
                  const std::optional<RunTime>& time, const EnergyCosts& costs) {
  using Kind = simulator::DramCommand::Kind;
  const simulator::DramEnergy energy = energies_of(bank.standard, costs);
  const double bits = as_double(8 * bank.standard.access_bytes);
  const double reads = as_double(commands[Kind::read]) * bits, writes = as_double(commands[Kind::write]) * bits;
  sum.add_shared("DRAM rows", as_double(commands[Kind::activate]) * energy.activate.value_or(0) +
                                  as_double(commands[Kind::precharge]) * energy.precharge.value_or(0));
  sum.add_shared("DRAM data", reads * energy.read_bit.value_or(0) + writes * energy.write_bit.value_or(0));
  sum.add_shared("DRAM I/O", reads * energy.io_read_bit.value_or(0) + writes * energy.io_write_bit.value_or(0));
  sum.add_shared("DRAM refresh", as_double(commands[Kind::refresh]) * energy.refresh.value_or(0));
  if (time) sum.add_shared("DRAM standby", energy.standby_mw.value_or(0) * time->seconds() * 1e9);
  const std::string unknown = unknown_events(energy);
  std::string origin = bank.standard.file.empty() ? "" : fmt::format("the DRAM by {}", bank.standard.file);
  if (!unknown.empty()) {
    sum.missing(fmt::format("{} of the DRAM {}, whose energy is not known", unknown, bank.standard.name));
    origin += fmt::format("{}without {} of the DRAM", origin.empty() ? "" : ", ", unknown);
  }
  if (!origin.empty()) sum.state(std::move(origin));
}

void add_dram(Sum& sum, const simulator::Counters& counters, const isa::HardwareConfig& config,
              const simulator::MemorySpec& memory, const std::optional<RunTime>& time, const EnergyCosts& costs) {
  if (!counters.fetch) sum.missing("reading the instructions, since the engine does not fetch them");
  if (const auto* bank = std::get_if<simulator::BankMemory>(&memory); bank != nullptr && counters.dram)
    return add_commands(sum, *counters.dram, *bank, time, costs);
  // The memory at the port is not a DRAM model: only the bytes that are read and written are known.
  std::uint64_t beats = counters.fetch ? counters.fetch->beats : 0;
  for (const simulator::PortEvents& port : counters.port) beats += port.beats;
  sum.add("DRAM by bytes", false, as_double(beats) * as_double(config.bus_bytes) * costs.ideal_byte);
  sum.missing(
      "rows, refresh and standby of a DRAM, which the memory does not have; its bytes have a fixed energy in the "
      "table");
}

}  // namespace

std::string unknown_dram_events(const simulator::MemorySpec& memory, const EnergyTable& table) {
  const auto* const bank = std::get_if<simulator::BankMemory>(&memory);
  return bank == nullptr ? "" : unknown_events(energies_of(bank->standard, table.costs));
}

double Energy::chip_joules() const {
  double sum = 0;
  for (const Part& part : parts)
    if (part.on_chip) sum += part.joules;
  return sum;
}

Energy& Energy::operator+=(const Energy& other) {
  for (const Part& part : other.parts) {
    const auto same =
        std::find_if(parts.begin(), parts.end(), [&](const Part& known) { return known.component == part.component; });
    if (same == parts.end()) parts.push_back(part);
    else same->joules += part.joules;
  }
  for (const std::string& what : other.missing)
    if (std::find(missing.begin(), missing.end(), what) == missing.end()) missing.push_back(what);
  joules += other.joules;
  if (statement.empty()) statement = other.statement;
  return *this;
}

Energy energy_of(const simulator::Counters& counters, const isa::HardwareConfig& config,
                 const simulator::MemorySpec& memory, const std::optional<RunTime>& time, const EnergyTable& table,
                 const std::optional<LogicSize>& logic) {
  Sum sum(table, time.value_or(RunTime{}));
  add_work(sum, counters, config, table.costs);
  add_memories(sum, counters, config);
  add_time(sum, time, table.costs, logic);
  add_dram(sum, counters, config, memory, time, table.costs);
  return sum.take();
}

Energy energy_of_each(std::span<const AcceleratorWork> each, const simulator::Counters& sum,
                      const simulator::MemorySpec& memory, const std::optional<RunTime>& time,
                      const EnergyTable& table) {
  std::optional<RunTime> alone;
  if (time) alone = RunTime{time->cycles, time->clock_hz, 1, false};
  Energy all;
  for (const AcceleratorWork& work : each) {
    Sum own(table, alone.value_or(RunTime{}));
    add_work(own, work.counters, work.config, table.costs);
    add_memories(own, work.counters, work.config);
    add_time(own, alone, table.costs, work.logic);
    all += own.take();
  }
  Sum shared(table, alone.value_or(RunTime{}));
  add_dram(shared, sum, each.front().config, memory, alone, table.costs);
  Energy dram = shared.take();
  all += dram;
  all.statement = dram.statement;
  return all;
}

std::vector<double> split_energy(const Energy& whole, std::span<const RunPart> parts, const isa::HardwareConfig& config,
                                 const simulator::MemorySpec& memory, const RunTime& time, const EnergyTable& table,
                                 const std::optional<LogicSize>& logic) {
  const auto beats = [](const RunPart& part) {
    std::uint64_t sum = part.counters.fetch ? part.counters.fetch->beats : 0;
    for (const simulator::PortEvents& port : part.counters.port) sum += port.beats;
    return as_double(sum);
  };
  const double samples = as_double(time.samples());
  double all_beats = 0, rest = whole.joules / samples;
  for (const RunPart& part : parts) all_beats += beats(part);
  std::vector<double> joules;
  for (const RunPart& part : parts) {
    const RunTime alone{part.cycles, time.clock_hz, time.by_samples ? 1 : time.accelerators, time.by_samples};
    const double dram = all_beats > 0 ? whole.dram_joules() / samples * beats(part) / all_beats : 0;
    joules.push_back(energy_of(part.counters, config, memory, alone, table, logic).chip_joules() + dram);
    rest -= joules.back();
  }
  joules.push_back(rest);
  return joules;
}

Json to_json(const Energy& energy) {
  Json parts = Json::array();
  for (const Energy::Part& part : energy.parts)
    parts.push_back(
        {{"component", part.component}, {"place", part.on_chip ? "chip" : "dram"}, {"joules", part.joules}});
  return {{"joules", energy.joules}, {"chip_joules", energy.chip_joules()}, {"dram_joules", energy.dram_joules()},
          {"parts", parts},          {"missing", energy.missing},           {"statement", energy.statement}};
}

}  // namespace dovetail::explore
