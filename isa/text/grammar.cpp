#include "isa/text/grammar.h"

#include <fmt/format.h>

#include "base/check.h"

namespace dovetail::isa::text {

namespace {

void replace(std::string& text, std::string_view mark, const std::string& by) {
  const std::size_t at = text.find(mark);
  DOVETAIL_CHECK(at != std::string::npos, fmt::format("the grammar has no {}", mark));
  text.replace(at, mark.size(), by);
}

}  // namespace

std::string grammar() {
  std::string operations, parameters;
  for (const spec::AluOpInfo& row : spec::kAluOps) {
    operations += fmt::format("{}\"{}\"", operations.empty() ? "" : " | ", row.name);
    if (!spec::takes_immediate(row.op) && !row.immediate.doc.empty())
      parameters +=
          fmt::format("  {:<20}alu.{}: {}\n", fmt::format("{}=N", row.immediate.word), row.name, row.immediate.doc);
  }
  std::string text(kGrammar);
  replace(text, "ALU_OPERATIONS", operations);
  replace(text, "ALU_PARAMETERS", parameters);
  return text;
}

}  // namespace dovetail::isa::text
