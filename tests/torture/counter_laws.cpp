#include "tests/torture/counter_laws.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace dovetail::test {

namespace {

using isa::Memory;
using simulator::Counters;
using simulator::DramCommand;

// Collects the first violated law.
class Laws {
 public:
  void equal(const char* law, std::uint64_t left, std::uint64_t right) {
    if (left != right && !broken_) broken_ = fmt::format("{}: {} is not {}", law, left, right);
  }
  void at_most(const char* law, std::uint64_t left, std::uint64_t right) {
    if (left > right && !broken_) broken_ = fmt::format("{}: {} is more than {}", law, left, right);
  }
  std::optional<std::string> broken() && { return std::move(broken_); }

 private:
  std::optional<std::string> broken_;
};

void check_port(Laws& laws, const isa::HardwareConfig& config, const simulator::PortEvents& port, std::uint64_t bytes) {
  const auto most = static_cast<std::uint64_t>(std::min(config.burst_beats, config.outstanding_beats));
  laws.at_most("bytes <= beats * bus", bytes, port.beats * static_cast<std::uint64_t>(config.bus_bytes));
  laws.at_most("bursts <= beats", port.bursts, port.beats);
  laws.at_most("beats <= bursts * the longest", port.beats, port.bursts * most);
  laws.equal("every beat is written into its buffer once", port.buffer.writes, port.beats);
  laws.equal("every beat is read from its buffer once", port.buffer.reads, port.beats);
}

void check_dram(Laws& laws, const simulator::BankMemory& memory, const simulator::DramCommands& dram,
                std::uint64_t read_bytes, std::uint64_t written_bytes, std::uint64_t cycles) {
  using Kind = DramCommand::Kind;
  const simulator::DramStandard& standard = memory.standard;
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t ranks = number(standard.channels * standard.ranks),
                      banks = ranks * number(standard.bank_groups * standard.banks_per_group),
                      access = number(standard.access_bytes);
  laws.at_most("beats read <= READs * bytes of an access", read_bytes, dram[Kind::read] * access);
  laws.at_most("beats written <= WRITEs * bytes of an access", written_bytes, dram[Kind::write] * access);
  laws.at_most("PRECHARGEs <= ACTIVATEs", dram[Kind::precharge], dram[Kind::activate]);
  laws.at_most("ACTIVATEs <= PRECHARGEs + banks", dram[Kind::activate], dram[Kind::precharge] + banks);
  laws.at_most("ACTIVATEs <= READs + WRITEs", dram[Kind::activate], dram[Kind::read] + dram[Kind::write]);
  const std::uint64_t clocks =
      (cycles * number(memory.clock_ps) + number(standard.clock_ps) - 1) / number(standard.clock_ps);
  // Traffic that is late keeps a rank busy after the end of the launch.
  laws.at_most("a REFRESH of each rank per tREFI", clocks / number(standard.refi) * ranks, dram[Kind::refresh]);
}

}  // namespace

std::optional<std::string> broken_law(const isa::HardwareConfig& config, const simulator::MemorySpec& memory,
                                      const Counters& counters, std::optional<std::uint64_t> cycles) {
  const auto sum = [](const auto& values) { return std::accumulate(values.begin(), values.end(), std::uint64_t{0}); };
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  const auto bytes_of = [&](Memory memory_id) { return counters.bytes_loaded[static_cast<std::size_t>(memory_id)]; };
  const std::uint64_t products = counters.gemm_uops + counters.window_uops,
                      steps = products + counters.gemm_reset_uops + counters.alu_uops;
  Laws laws;
  laws.equal("MACs = steps with products * batch * in * out", counters.macs,
             products * static_cast<std::uint64_t>(config.macs_per_uop()));
  laws.equal("steps of ALU are those of its operations", counters.alu_uops, sum(counters.alu_uops_by_op));
  laws.equal("a step reads a micro-op", counters.sram_of(Memory::uop).reads,
             steps + counters.window_pushes + counters.epilogue_parameters);
  laws.equal("a product and a push read INP", counters.sram_of(Memory::inp).reads, products + counters.window_pushes);
  laws.equal("products and parameters read WGT", counters.sram_of(Memory::wgt).reads,
             products + counters.epilogue_parameters);
  laws.at_most("sums that are requantized are those of products", counters.epilogue_uops, products);
  laws.at_most("entries of the table are of requantized sums", counters.epilogue_lookups, counters.epilogue_uops);
  laws.at_most("a step reads ACC", steps, counters.sram_of(Memory::acc).reads);
  laws.at_most("a step of ALU reads ACC three times at most", counters.sram_of(Memory::acc).reads,
               steps + 2 * counters.alu_uops);
  laws.at_most("a step writes ACC", steps, counters.sram_of(Memory::acc).writes);
  laws.equal("ACC and its shadow are written together", counters.sram_of(Memory::out).writes,
             counters.sram_of(Memory::acc).writes);
  for (const Memory id : {Memory::uop, Memory::wgt, Memory::inp, Memory::acc})
    laws.at_most("every element loaded is written", bytes_of(id) / static_cast<std::uint64_t>(config.element_bytes(id)),
                 counters.sram_of(id).writes);

  check_port(laws, config, counters.port[0], bytes_of(Memory::inp) + bytes_of(Memory::wgt) + bytes_of(Memory::wgt4));
  check_port(laws, config, counters.port[1],
             bytes_of(Memory::uop) + bytes_of(Memory::acc) + bytes_of(Memory::acc8) + bytes_of(Memory::tab));
  laws.equal("a beat of a table is written at once", counters.sram_of(Memory::tab).writes * bus, bytes_of(Memory::tab));
  laws.at_most("a step of ALU reads the table at most once", counters.sram_of(Memory::tab).reads,
               counters.alu_uops + counters.epilogue_lookups);
  check_port(laws, config, counters.port[2], counters.bytes_stored);
  laws.equal("an engine with a clock fetches", counters.fetch.has_value(), true);
  if (counters.fetch)
    check_port(laws, config, *counters.fetch,
               sum(counters.instructions) * static_cast<std::uint64_t>(config.instruction_bytes()));

  const auto* bank = std::get_if<simulator::BankMemory>(&memory);
  laws.equal("there are DRAM commands where there is DRAM", counters.dram.has_value(), bank != nullptr && cycles);
  if (counters.dram && counters.fetch && bank != nullptr)
    check_dram(laws, *bank, *counters.dram,
               (counters.port[0].beats + counters.port[1].beats + counters.fetch->beats) * bus,
               counters.port[2].beats * bus, *cycles);
  return std::move(laws).broken();
}

}  // namespace dovetail::test
