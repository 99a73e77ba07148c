#include "cli/program/break_place.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "cli/program/program_image.h"
#include "cli/program/sram_text.h"
#include "cli/shell/arguments.h"
#include "isa/nearest.h"
#include "isa/verify/token_use.h"

namespace dovetail::cli {

namespace {

bool overlaps(std::uint64_t a, std::uint64_t a_end, std::uint64_t b, std::uint64_t b_end) {
  return a < b_end && b < a_end;
}

bool touches(const isa::DramAccess& access, std::uint64_t begin, std::uint64_t end) {
  if (access.empty() || !overlaps(access.hull().begin, access.hull().end, begin, end)) return false;
  // Only the last row that begins before the end of the range can overlap it.
  const std::uint64_t last = access.stride_bytes == 0 || end <= access.begin
                                 ? 0
                                 : std::min(access.rows - 1, (end - 1 - access.begin) / access.stride_bytes);
  const isa::Extent row = access.row(last);
  return overlaps(row.begin, row.end, begin, end);
}

bool is_sram_of(isa::Memory access, isa::Memory asked) {
  return access == (asked == isa::Memory::out ? isa::Memory::acc : asked);
}

class BreakPlace {
 public:
  BreakPlace(std::string_view option, const ProgramInput& input, TouchedBy touched)
      : option_(option), input_(input), touched_(std::move(touched)) {}

  Result<StopsBefore> index(std::string_view text) const {
    const auto index = number_of(text.substr(1));
    if (!index || *index >= input_.program.size())
      return wrong(text, fmt::format("the program has {} instructions", input_.program.size()),
                   "write #0 for the first instruction");
    return StopsBefore([index](std::size_t instruction) { return instruction == *index; });
  }

  Result<StopsBefore> line(std::string_view text) const {
    const auto line = number_of(text.substr(1));
    const auto is_there = [line](const isa::SourceLine& at) {
      return line && (at.line == *line || at.used_line == *line);
    };
    const auto& lines = input_.source.lines;
    if (std::none_of(lines.begin(), lines.end(), is_there))
      return wrong(text, "no instruction comes from this line",
                   lines.empty() ? "the program has no source text" : "name a line that has an instruction");
    return StopsBefore([&lines, is_there](std::size_t instruction) { return is_there(lines[instruction]); });
  }

  Result<StopsBefore> token(const std::vector<std::string>& words) const {
    for (const isa::TokenFifo fifo : isa::kAllFifos)
      if (words.size() == 2 && words[1] == fmt::format("{}->{}", isa::name(producer(fifo)), isa::name(consumer(fifo))))
        return StopsBefore([&program = input_.program, fifo](std::size_t instruction) {
          const isa::TokenUse use = isa::token_use(program[instruction]);
          return use.pops_from(fifo) || use.pushes_to(fifo);
        });
    return wrong(words.back(), "this is not a token FIFO",
                 "write token load->compute, compute->load, compute->store or store->compute");
  }

  StopsBefore elements(const SramRange& range) const {
    return [touched = touched_, range](std::size_t instruction) {
      for (const isa::SramAccess& access : touched(instruction).sram)
        for (const isa::Extent& run : access.runs)
          if (is_sram_of(access.memory, range.memory) && overlaps(run.begin, run.end, range.begin, range.end))
            return true;
      return false;
    };
  }

  Result<StopsBefore> address(const std::vector<std::string>& words) const {
    const std::string_view place = words.size() == 2 ? std::string_view(words[1]) : std::string_view();
    const std::size_t colon = std::min(place.find(':'), place.size());
    const auto address = number_of(place.substr(0, colon));
    const auto size = colon < place.size() ? number_of(place.substr(colon + 1)) : std::optional<std::uint64_t>(1);
    if (!address || !size || *size == 0)
      return wrong(words[0], "this is not an address", "write dram 0x2000, or dram 0x2000:64");
    return bytes(*address, *size);
  }

  // `text`: a label, or a place in memory.
  Result<StopsBefore> name(const std::string& text) const {
    const std::string_view base = std::string_view(text).substr(0, text.find_first_of("+:"));
    const bool is_name = !base.empty() && (base.front() < '0' || base.front() > '9');
    std::vector<std::string_view> names;
    for (const isa::Symbol& symbol : input_.symbols) {
      if (symbol.name == text && symbol.kind == isa::SymbolKind::instruction)
        return StopsBefore([index = symbol.value](std::size_t instruction) { return instruction == index; });
      if (symbol.kind != isa::SymbolKind::constant) names.push_back(symbol.name);
    }
    if (is_name && std::find(names.begin(), names.end(), base) == names.end())
      return wrong(text, "the program has no label and no address range of this name",
                   names.empty() ? "write #12 for an instruction; names come from assembly text or --map"
                                 : isa::suggestion(base, names));
    DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice(option_, text, input_.symbols, false));
    return bytes(slice.address, std::max<std::uint64_t>(1, slice.size_bytes));
  }

  Diagnostic wrong(std::string_view where, std::string why, std::string hint) const {
    return {fmt::format("invalid value for {}", option_), std::string(where), std::move(why), std::move(hint)};
  }

 private:
  StopsBefore bytes(std::uint64_t begin, std::uint64_t size) const {
    return [touched = touched_, begin, end = begin + size](std::size_t instruction) {
      return touches(touched(instruction).dram, begin, end);
    };
  }

  std::string option_;
  const ProgramInput& input_;
  TouchedBy touched_;
};

}  // namespace

Result<StopsBefore> parse_break_place(std::string_view option, const std::vector<std::string>& words,
                                      const ProgramInput& input, TouchedBy touched) {
  const BreakPlace place(option, input, std::move(touched));
  const std::string& what = words.front();
  if (what == "token") return place.token(words);
  if (what == "dram") return place.address(words);
  if (words.size() > 1)
    return place.wrong(words[1], "this word is unexpected",
                       "write #12, NAME, acc[0..3], dram 0x2000 or token load->compute");
  if (what.starts_with('#')) return place.index(what);
  if (what.starts_with(':')) return place.line(what);
  DOVETAIL_ASSIGN(const auto range,
                  parse_sram_range(fmt::format("invalid value for {}", option), what, input.machine.hardware));
  if (range) return place.elements(*range);
  return place.name(what);
}

}  // namespace dovetail::cli
