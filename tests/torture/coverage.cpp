#include "tests/torture/coverage.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/spec/alu_ops.h"
#include "isa/verify/token_machine.h"

namespace dovetail::test {

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
  // The causes and classes that each unit can have.
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
