#include "cli/program/sram_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/shell/arguments.h"
#include "driver/value_text.h"
#include "isa/spec/memories.h"

namespace dovetail::cli {

std::optional<isa::Memory> sram_named(std::string_view text) {
  for (const isa::spec::MemoryInfo& row : isa::spec::kMemories)
    if (row.name == text && row.id != isa::Memory::acc8 && row.id != isa::Memory::wgt4) return row.id;
  return std::nullopt;
}

Result<std::optional<SramRange>> parse_sram_range(std::string_view action, std::string_view text,
                                                  const isa::HardwareConfig& config) {
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') return std::optional<SramRange>();
  const auto memory = sram_named(text.substr(0, bracket));
  if (!memory) return std::optional<SramRange>();
  const std::string_view range = text.substr(bracket + 1, text.size() - bracket - 2);
  const std::size_t dots = range.find("..");
  const auto first = number_of(range.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number_of(range.substr(dots + 2));
  const auto depth = static_cast<std::uint64_t>(config.depth(*memory));
  if (!first || !last || *last < *first || *last >= depth)
    return Diagnostic{std::string(action), std::string(text),
                      fmt::format("`{}` is not within the {} elements", range, depth),
                      "write acc[3] or acc[0..7], which includes both ends"};
  return std::optional(SramRange{*memory, *first, *last + 1});
}

std::string rows_text(const NdArray& array, const std::function<std::string(std::int64_t)>& head) {
  if (array.count() == 0) return "  nothing\n";
  const std::int64_t columns = array.rank() == 0 ? 1 : array.shape().back();
  const bool is_float = info(array.dtype()).kind == DTypeKind::floating;
  std::size_t width = 1;
  std::vector<std::string> cells;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    cells.push_back(is_float ? fmt::format("{:g}", array.as_double(i)) : fmt::format("{}", array.as_int64(i)));
    width = std::max(width, cells.back().size());
  }
  std::string text;
  for (std::int64_t row = 0; row < array.count() / columns; ++row) {
    text += fmt::format("  {:<10}", head(row));
    for (std::int64_t column = 0; column < columns; ++column)
      text += fmt::format(" {:>{}}", cells[static_cast<std::size_t>(row * columns + column)], width);
    text += "\n";
  }
  return text;
}

std::string tiles_text(const simulator::SramReader& sram, const SramRange& range) {
  const NdArray array = sram.read_sram(range.memory, range.begin, range.end - range.begin);
  const std::int64_t rows = array.rank() == 3 ? array.shape()[1] : 1;
  const std::string_view memory = isa::spec::info(range.memory).name;
  const auto head = [&](std::int64_t row) {
    const std::size_t element = range.begin + static_cast<std::size_t>(row / rows);
    if (row % rows != 0) return std::string();
    return fmt::format("{}[{}]{}", memory, element, sram.is_written(range.memory, element) ? "" : "?");
  };
  return fmt::format("{}\n", driver::type_text(array.dtype(), array.shape())) + rows_text(array, head);
}

}  // namespace dovetail::cli
