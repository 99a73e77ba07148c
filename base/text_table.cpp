#include "base/text_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/printable.h"

namespace dovetail {

namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headers) : headers_(std::move(headers)) {
  for (std::string& header : headers_) {
    right_.push_back(header.starts_with('>'));
    if (right_.back()) header.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> cells) {
  DOVETAIL_CHECK(cells.size() == headers_.size(), "a row must have one cell per header");
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < headers_.size(); ++column) {
    widths.push_back(width(headers_[column]));
    for (const auto& row : rows_) widths.back() = std::max(widths.back(), width(row[column]));
  }
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string built(static_cast<std::size_t>(indent), ' ');
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string fill(widths[column] - width(cells[column]), ' ');
      if (column > 0) built += "  ";
      built += right_[column] ? fill + cells[column] : cells[column] + fill;
    }
    built.erase(built.find_last_not_of(' ') + 1);
    text += built + '\n';
  };
  line(headers_);
  std::vector<std::string> rule;
  for (const std::size_t w : widths) rule.emplace_back(w, '-');
  line(rule);
  for (const auto& row : rows_) line(row);
  return text;
}

std::string with_separators(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (auto position = static_cast<std::ptrdiff_t>(digits.size()) - 3; position > 0; position -= 3)
    digits.insert(static_cast<std::size_t>(position), 1, ',');
  return digits;
}

}  // namespace dovetail
