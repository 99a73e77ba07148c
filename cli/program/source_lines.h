// Source lines of instructions. Diagnostics name instructions by their index; for a program from assembly text, or with
// a map, the user also needs the line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "isa/text.h"

namespace dovetail::cli {

struct SourceLines {
  std::string file;
  std::vector<isa::SourceLine> lines;  // line of each instruction; empty: unknown

  // "k.s:12"; for an instruction of a macro that is defined in line 3 and used in line 12, "k.s:3, used in line 12";
  // nullopt if the line is unknown.
  std::optional<std::string> of(std::size_t instruction) const;
  // Adds the line after the number in every "#4 `" and "instruction 4".
  std::string cite(std::string_view text) const;
  Diagnostics cite(Diagnostics diagnostics) const;
};

}  // namespace dovetail::cli
