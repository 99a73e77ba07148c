// A plain-text table with aligned columns, for reports that people read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dovetail {

class TextTable {
 public:
  // A header that begins with '>' aligns its column to the right (numbers); the sign is not printed.
  explicit TextTable(std::vector<std::string> headers);

  void add(std::vector<std::string> cells);  // precondition: as many cells as headers
  bool empty() const { return rows_.empty(); }

  // Header, rule, rows; every line begins with `indent` spaces and ends without trailing ones, and with '\n'. Widths
  // count code points.
  std::string to_string(int indent = 2) const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// 1234567 -> "1,234,567".
std::string with_separators(std::uint64_t value);

}  // namespace dovetail
