#include "cli/report/text.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text_table.h"
#include "driver/value_text.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"

namespace dovetail::cli {

std::string in_columns(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column > indent && column + 1 + length > kReportColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return out;
}

std::string shortened(const std::string& name) {
  constexpr std::size_t kWidth = 38;
  return name.size() <= kWidth ? name : name.substr(0, kWidth - 3) + "...";
}

std::string entry(std::string_view name, std::string_view text) {
  return fmt::format("{:<14}{}\n", name, in_columns(text, 14));
}

std::string preview(const NdArray& array) {
  constexpr std::int64_t kMost = 10;
  std::string text;
  for (std::int64_t i = 0; i < std::min(array.count(), kMost); ++i) {
    if (i > 0) text += ' ';
    text +=
        is_floating(array.dtype()) ? fmt::format("{:.6g}", array.as_double(i)) : fmt::format("{}", array.as_int64(i));
  }
  if (array.count() > kMost) text += " …";
  return text;
}

std::string program_text(const bundle::ProgramSummary& summary) {
  std::string kinds;
  for (const auto& [kind, count] : summary.kinds)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, with_separators(count));
  return fmt::format("instructions  {}{}\nmicro-ops     {}\ntokens        {}\n", with_separators(summary.instructions),
                     kinds.empty() ? "" : ": " + kinds, with_separators(summary.uops), with_separators(summary.tokens));
}

std::string counters_text(const simulator::Counters& counters) {
  const auto sum = [](const auto& array) { return std::accumulate(array.begin(), array.end(), std::uint64_t{0}); };
  std::string loaded;
  for (const isa::spec::MemoryInfo& memory : isa::spec::kMemories)
    if (const std::uint64_t bytes = counters.bytes_loaded[static_cast<std::size_t>(memory.id)]; bytes > 0)
      loaded += fmt::format("{}{} {}", loaded.empty() ? "" : ", ", memory.name, driver::bytes_text(bytes));
  std::string text =
      fmt::format("executed      {} instructions: {} load queue, {} compute queue, {} store queue; {} tokens\n",
                  with_separators(sum(counters.instructions)), with_separators(counters.queue_instructions[0]),
                  with_separators(counters.queue_instructions[1]), with_separators(counters.queue_instructions[2]),
                  with_separators(counters.tokens));
  text += fmt::format("DRAM          {} loaded{}{}{}, {} stored\n", driver::bytes_text(sum(counters.bytes_loaded)),
                      loaded.empty() ? "" : " (", loaded, loaded.empty() ? "" : ")",
                      driver::bytes_text(counters.bytes_stored));
  text += fmt::format("work          {} MACs in {} GEMM micro-ops, {} resets, {} ALU micro-ops\n",
                      with_separators(counters.macs), with_separators(counters.gemm_uops),
                      with_separators(counters.gemm_reset_uops), with_separators(counters.alu_uops));
  return text + events_text(counters);
}

std::string events_text(const simulator::Counters& counters) {
  const auto list = [](std::string& text, std::string_view name, std::uint64_t number) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, with_separators(number));
  };
  std::string read, written, moved, commands;
  for (const isa::Memory memory : simulator::kSrams) {
    list(read, isa::spec::info(memory).name, counters.sram_of(memory).reads);
    list(written, isa::spec::info(memory).name, counters.sram_of(memory).writes);
  }
  const auto port = [&](std::string_view name, const simulator::PortEvents& events) {
    if (events.bursts == 0) return;
    list(moved, name, events.beats);
    moved += fmt::format(" in {} bursts", with_separators(events.bursts));
  };
  if (counters.fetch) port("fetch", *counters.fetch);
  for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store})
    port(isa::name(unit), counters.port[isa::index(unit)]);
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  std::string text = fmt::format("SRAM reads    {}\nSRAM writes   {}\nbeats         {}\n", or_none(read),
                                 or_none(written), or_none(moved));
  if (!counters.dram) return text;
  for (std::size_t kind = 0; kind < simulator::kDramCommandNames.size(); ++kind)
    list(commands, simulator::kDramCommandNames[kind], counters.dram->counts[kind]);
  return text + fmt::format("DRAM commands {}\n", or_none(commands));
}

}  // namespace dovetail::cli
