#include "simulator/cycle/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "isa/spec/timing.h"

namespace dovetail::simulator {

std::uint64_t Bounds::tightest() const { return std::max({compute(), dram_read, dram_write, dram}); }

std::string_view Bounds::tightest_name() const {
  if (tightest() == compute()) return "compute";
  if (tightest() == dram_read) return "DRAM read";
  return tightest() == dram_write ? "DRAM write" : "DRAM read and write";
}

double PeakRate::charged(std::uint64_t read, std::uint64_t written) const {
  const auto busier = static_cast<double>(std::max(read, written)), all = static_cast<double>(read + written);
  return std::max(busier, all * each_way / both_ways);
}

namespace {

// Of a memory without DRAM: the lower of the port's and the memory's rate.
ByteRate ideal_rate(const MemorySpec& memory, std::int64_t bus_bytes) {
  const IdealMemory& ideal = std::holds_alternative<IdealMemory>(memory) ? std::get<IdealMemory>(memory)
                                                                         : std::get<PerturbedMemory>(memory).base;
  const ByteRate& rate = ideal.bytes_per_cycle;
  return rate.is_bus() || rate.bytes >= bus_bytes * rate.cycles ? ByteRate(bus_bytes) : rate;
}

}  // namespace

PeakRate peak_rate(const MemorySpec& memory, std::int64_t bus_bytes, std::int64_t accelerators) {
  const std::int64_t ports = std::min(ports_of(memory), accelerators);
  const auto bus = static_cast<double>(ports * bus_bytes);
  if (const auto* bank = std::get_if<BankMemory>(&memory)) {
    const DramStandard& dram = bank->standard;
    const double bytes_per_clock =
        static_cast<double>(dram.channels * dram.access_bytes) / static_cast<double>(dram.access_clocks);
    const double rate = bytes_per_clock * static_cast<double>(bank->clock_ps) / static_cast<double>(dram.clock_ps);
    return {std::min(bus, rate), std::min(2 * bus, rate)};
  }
  const ByteRate rate = ideal_rate(memory, bus_bytes);
  const double each_way = static_cast<double>(ports) * rate.value();
  return {each_way, 2 * each_way};
}

std::string to_string(const PeakRate& rate, double factor, std::string_view unit) {
  const double each = rate.each_way * factor, both = rate.both_ways * factor;
  if (rate.both_ways == rate.each_way) return fmt::format("{:.2f} {}, shared by reads and writes", each, unit);
  if (rate.both_ways == 2 * rate.each_way) return fmt::format("{:.2f} {} each way", each, unit);
  return fmt::format("{:.2f} {} each way, {:.2f} together", each, unit, both);
}

Bounds bounds_of(const isa::HardwareConfig& config, const MemorySpec& memory, const Counters& counters,
                 std::int64_t accelerators) {
  const auto sum = [](const auto& array) { return std::accumulate(array.begin(), array.end(), std::uint64_t{0}); };
  const PeakRate rate = peak_rate(memory, config.bus_bytes, accelerators);
  const auto ports = static_cast<std::uint64_t>(std::min(ports_of(memory), accelerators)),
             divided = static_cast<std::uint64_t>(accelerators);
  const std::uint64_t read =
      sum(counters.bytes_loaded) + sum(counters.instructions) * static_cast<std::uint64_t>(config.instruction_bytes());
  const auto cycles = [&](double bytes) { return static_cast<std::uint64_t>(std::ceil(bytes / rate.each_way)); };
  const auto one_way = [&](std::uint64_t bytes) {
    if (std::holds_alternative<BankMemory>(memory)) return cycles(static_cast<double>(bytes));
    const ByteRate exact = ideal_rate(memory, config.bus_bytes);  // no double: its quotient may round up
    const auto whole = ports * static_cast<std::uint64_t>(exact.bytes),
               parts = static_cast<std::uint64_t>(exact.cycles);
    return (bytes * parts + whole - 1) / whole;
  };
  // A step may repeat the preceding step's operands, and is then as short as a step without operands.
  std::uint64_t alu = counters.alu_uops * static_cast<std::uint64_t>(isa::spec::kAluCyclesPerUopImm.value);
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    if (row.serial)
      alu += counters.alu_uops_by_op[static_cast<std::size_t>(row.op)] *
             static_cast<std::uint64_t>(row.vector_cycles->value * config.batch - isa::spec::kAluCyclesPerUopImm.value);
  const std::uint64_t gemm =
      (counters.gemm_uops + counters.gemm_reset_uops + counters.window_uops + counters.window_pushes) *
          static_cast<std::uint64_t>(isa::spec::kGemmCyclesPerUop.value) +
      counters.epilogue_parameters * static_cast<std::uint64_t>(isa::spec::kEpilogueParameterCycles.value);
  return {.gemm = (gemm + divided - 1) / divided,
          .alu = (alu + divided - 1) / divided,
          .dram_read = one_way(read),
          .dram_write = one_way(counters.bytes_stored),
          .dram = std::holds_alternative<BankMemory>(memory) ? cycles(rate.charged(read, counters.bytes_stored))
                                                             : one_way(std::max(read, counters.bytes_stored))};
}

Json to_json(const Bounds& bounds) {
  return {{"gemm", bounds.gemm},
          {"alu", bounds.alu},
          {"compute", bounds.compute()},
          {"dram_read", bounds.dram_read},
          {"dram_write", bounds.dram_write},
          {"dram", bounds.dram},
          {"tightest", bounds.tightest_name()}};
}

}  // namespace dovetail::simulator
