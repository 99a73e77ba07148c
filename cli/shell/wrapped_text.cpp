#include "cli/shell/wrapped_text.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace dovetail::cli {

namespace {

bool begins_code_point(char c) { return (c & 0xC0) != 0x80; }

// The first `columns` code points.
std::string_view head(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_code_point(text[at]) && columns-- == 0) break;
  return text.substr(0, at);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

struct Column {
  std::size_t begin = 0, width = 0;     // columns in the table's lines
  bool right = false;                   // right-aligned
  std::vector<std::string> cells = {};  // the header first
};

// The columns of a table's rule "  ----  --"; empty if the line is not a rule.
std::vector<Column> columns_of(std::string_view line) {
  if (line.find("--") == line.npos || line.find_first_not_of("- ") != line.npos) return {};
  std::vector<Column> columns;
  for (std::size_t at = line.find('-'); at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    columns.push_back({at, end - at});
    const std::size_t next = std::min(line.find('-', end), line.size());
    if (next < line.size() && next - end != 2) return {};
    at = next;
  }
  return columns;
}

// Adds the cells of a line of the table. False: the line is not part of the table.
bool add_cells(std::string_view line, std::vector<Column>& columns) {
  if (trimmed(line).empty() || !trimmed(head(line, columns.front().begin)).empty()) return false;
  std::vector<std::string> cells;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t before = head(line, columns[c].begin).size();
    const std::size_t end = head(line, columns[c].begin + columns[c].width).size();
    const bool last = c + 1 == columns.size();
    const std::size_t next = last ? line.size() : head(line, columns[c + 1].begin).size();
    if (!trimmed(line.substr(end, next - end)).empty()) return false;
    cells.emplace_back(line.substr(before, end - before));
  }
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(std::move(cells[c]));
  return true;
}

void find_alignment(Column& column) {
  bool left = true, right = true;
  for (std::string& cell : column.cells) {
    if (trimmed(cell).empty()) continue;
    left &= cell.front() != ' ';
    right &= text_width(cell) == column.width && cell.back() != ' ';
  }
  column.right = right && !left;
  for (std::string& cell : column.cells) {  // the indentation of a first column has a meaning
    const std::string_view text = trimmed(cell);
    const std::size_t indent = column.right || text.empty() ? 0 : cell.find_first_not_of(' ');
    cell = std::string(indent, ' ') + std::string(text);
  }
}

// The least width of a column of words.
constexpr std::size_t kLeastWords = 12;

// Widths whose sum, gaps included, is at most `room`, if possible.
std::vector<std::size_t> narrowed(std::span<const Column> columns, std::size_t room) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(column.width);
  const auto sum = [&] { return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1)); };
  while (sum() > room) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (!columns[c].right && widths[c] > kLeastWords && (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string table_text(std::span<const Column> columns, std::size_t indent, std::span<const std::size_t> widths) {
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell(cell_of(c));
      const std::string fill(widths[c] - std::min(widths[c], text_width(cell)), ' ');
      if (c > 0) line += "  ";
      line += columns[c].right ? fill + cell : cell + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    std::vector<std::vector<std::string>> lines;
    std::size_t most = 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string& cell = columns[c].cells[row];
      const std::size_t inner = std::min(cell.find_first_not_of(' '), cell.size());
      lines.push_back(wrapped(cell, widths[c], widths[c] - std::min(inner, widths[c] - 1), LongWords::split));
      for (std::size_t i = 1; i < lines.back().size(); ++i) lines.back()[i].insert(0, inner, ' ');
      most = std::max(most, lines.back().size());
    }
    for (std::size_t i = 0; i < most; ++i)
      add_line([&](std::size_t c) { return i < lines[c].size() ? lines[c][i] : std::string(); });
    if (row == 0) add_line([&](std::size_t c) { return std::string(widths[c], '-'); });
  }
  return text;
}

std::string fitted_table(std::vector<Column> columns, std::size_t width) {
  const std::size_t indent = columns.front().begin;
  for (Column& column : columns) find_alignment(column);
  const std::size_t room = width - std::min(width - 1, indent);
  std::string text;
  // Parts with as many columns as fit, each with the first column before them.
  for (std::size_t begin = 1; begin < columns.size() || text.empty();) {
    std::vector<Column> part{columns.front()};
    std::size_t end = begin;
    std::vector<std::size_t> widths = narrowed(part, room);
    while (end < columns.size()) {
      part.push_back(columns[end]);
      const std::vector<std::size_t> wider = narrowed(part, room);
      if (end > begin && std::accumulate(wider.begin(), wider.end(), 2 * (wider.size() - 1)) > room) {
        part.pop_back();
        break;
      }
      widths = wider;
      ++end;
    }
    if (!text.empty()) text += '\n';
    text += table_text(part, indent, widths);
    begin = end;
  }
  return text;
}

// Lines "label         text" of reports begin their text here.
constexpr std::size_t kLabelColumns = 14;

std::size_t indent_of(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const bool labeled = line.size() > kLabelColumns && line[kLabelColumns] != ' ' &&
                       line.substr(kLabelColumns - 2, 2) == "  " && (begin <= 2 || begin == kLabelColumns);
  return labeled ? kLabelColumns : begin + 2;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_code_point));
}

std::vector<std::string> wrapped(std::string_view line, std::size_t first, std::size_t width, LongWords words) {
  std::vector<std::string> lines;
  std::size_t room = first;
  while (text_width(line) > room) {
    const std::string_view most = head(line, room + 1);
    std::size_t cut = most.rfind(' ');
    if (cut == most.npos || trimmed(line.substr(0, cut)).empty()) {
      cut = words == LongWords::split ? head(line, room).size() : line.find(' ', line.find_first_not_of(' '));
      if (cut >= line.size()) break;
    }
    const std::string_view begin = line.substr(0, cut);
    lines.emplace_back(begin.substr(0, begin.find_last_not_of(' ') + 1));
    line.remove_prefix(std::min(line.find_first_not_of(' ', cut), line.size()));
    room = width;
  }
  const std::size_t end = line.find_last_not_of(' ');
  lines.emplace_back(end == line.npos ? std::string_view() : line.substr(0, end + 1));
  return lines;
}

std::string fitted(std::string_view report, std::size_t width) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < report.size();) {
    const std::size_t end = std::min(report.find('\n', begin), report.size());
    lines.push_back(report.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + 1 < lines.size()) {
      std::vector<Column> columns = columns_of(lines[i + 1]);
      const bool too_wide = !columns.empty() && columns.back().begin + columns.back().width > width;
      if (too_wide && add_cells(lines[i], columns)) {
        for (i += 2; i < lines.size() && add_cells(lines[i], columns); ++i) {
        }
        --i;
        text += fitted_table(std::move(columns), width);
        continue;
      }
    }
    if (text_width(lines[i]) <= width) {
      text += std::string(lines[i]) + '\n';
      continue;
    }
    const std::size_t indent = std::min(indent_of(lines[i]), width / 2);
    std::size_t number = 0;
    for (const std::string& line : wrapped(lines[i], width, width - indent)) {
      if (number++ > 0) text += std::string(indent, ' ');
      text += line + '\n';
    }
  }
  if (!report.empty() && report.back() != '\n' && !text.empty()) text.pop_back();
  return text;
}

}  // namespace dovetail::cli
