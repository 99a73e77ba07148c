// Diagnostics name instructions by their index. Of a program from assembly text, or with a map, the reader needs the
// line too.
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
  std::vector<isa::SourceLine> lines;  // of each instruction; empty: unknown

  // "k.s:12", or "k.s:3, used in line 12" of a macro's; nothing where it is unknown.
  std::optional<std::string> of(std::size_t instruction) const;
  // Every "#4 `" and "instruction 4" with the line after the number.
  std::string cite(std::string_view text) const;
  Diagnostics cite(Diagnostics diagnostics) const;
};

}  // namespace dovetail::cli
