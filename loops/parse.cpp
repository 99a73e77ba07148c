#include "loops/parse.h"

#include "loops/parser.h"

namespace dovetail::loops {

Result<Program> parse_program(std::string_view text, std::string_view where, const Sizes& sizes) {
  Parser parser(text, where, sizes);
  std::optional<Program> program = parser.run();
  if (!parser.errors().empty()) return std::move(parser.errors());
  return *std::move(program);
}

Result<Expr> parse_expression(std::string_view text, std::string_view where, const VisibleNames& names, DType dtype) {
  Parser parser(text, where);
  const std::optional<Expr> expr = parser.lone_expression(names, dtype);
  if (!parser.errors().empty()) return std::move(parser.errors());
  return *expr;
}

Result<std::vector<Region>> parse_regions(std::string_view text, std::string_view where, const VisibleNames& names) {
  Parser parser(text, where);
  std::optional<std::vector<Region>> regions = parser.lone_regions(names);
  if (!parser.errors().empty()) return std::move(parser.errors());
  return *std::move(regions);
}

}  // namespace dovetail::loops
