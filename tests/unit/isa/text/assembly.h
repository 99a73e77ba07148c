// Assembles a text, or returns its errors, one line each.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/text.h"
#include "tests/catch.h"

namespace dovetail::isa::test {

// Files that `.data` finds, by name.
using DataFiles = std::map<std::string, NdArray>;

inline Result<Assembly> assemble(std::string_view text, const DataFiles& files = {}) {
  return parse_assembly(text, "k.s", std::nullopt, [&](const std::string& path) -> Result<NdArray> {
    const auto file = files.find(path);
    if (file != files.end()) return file->second;
    return Diagnostic{"cannot read file", path, "No such file or directory", "check the path"};
  });
}

inline Assembly assembled(std::string_view text, const DataFiles& files = {}) {
  Result<Assembly> assembly = assemble(text, files);
  INFO((assembly.ok() ? std::string() : to_string(assembly.errors())));
  REQUIRE(assembly.ok());
  return *std::move(assembly);
}

inline std::vector<std::string> errors_of(std::string_view text, const DataFiles& files = {}) {
  std::vector<std::string> texts;
  const Result<Assembly> assembly = assemble(text, files);
  REQUIRE_FALSE(assembly.ok());
  for (const Diagnostic& error : assembly.errors()) texts.push_back(error.where + ": " + error.why + ". " + error.hint);
  return texts;
}
using Texts = std::vector<std::string>;

// The instructions as text, one per line.
inline std::string program_of(std::string_view text, const DataFiles& files = {}) {
  std::string lines;
  for (const Instruction& instruction : assembled(text, files).program) lines += format_instruction(instruction) + "\n";
  return lines;
}

}  // namespace dovetail::isa::test
