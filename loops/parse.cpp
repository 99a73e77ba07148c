#include "loops/parse.h"

#include "loops/parser.h"

namespace dovetail::loops {

Result<Program> parse_program(std::string_view text, std::string_view where, const Sizes& sizes) {
  Parser parser(text, where, sizes);
  std::optional<Program> program = parser.run();
  if (!parser.errors().empty()) return std::move(parser.errors());
  return *std::move(program);
}

}  // namespace dovetail::loops
