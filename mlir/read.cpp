#include "mlir/read.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/verify.h"
#include "mlir/function_reader.h"
#include "mlir/meanings.h"

namespace dovetail::mlir {

bool looks_like_mlir(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    at = end + 1;
    if (line.empty() || line.starts_with("//")) continue;
    return line.starts_with("module") || line.starts_with("func.func") || line.starts_with("\"builtin.module\"") ||
           line.starts_with("\"func.func\"") || line.starts_with("#map") || line.starts_with("#set") ||
           (line.starts_with('#') && line.find(" = affine_") != std::string_view::npos);
  }
  return false;
}

Result<loops::Program> read_mlir(std::string_view text, std::string_view where,
                                 const loops::IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const std::vector<Operation> operations, parse_syntax(text, where));
  std::vector<const Operation*> functions;
  std::vector<std::string> names;
  for (const Operation& op : operations) {
    if (op.name != "func.func" || op.regions.size() != 1 || op.text("sym_visibility") == "private") continue;
    if (op.regions.front().body.empty()) continue;
    const Attribute* symbol = op.find("sym_name");
    functions.push_back(&op);
    names.push_back(symbol == nullptr ? "?" : "@" + symbol->text);
  }
  if (functions.size() != 1)
    return Diagnostic{"cannot read MLIR", std::string(where),
                      functions.empty()
                          ? "there is no public function with a body"
                          : fmt::format("there are {} public functions: {}", functions.size(), fmt::join(names, ", ")),
                      "a program is one function; make the others private, or put them into files of their own"};
  FunctionReader reader(where, intrinsics);
  std::optional<loops::Program> program = reader.read(*functions.front());
  if (!reader.errors().empty()) return std::move(reader.errors());
  return loops::complete_calls(*std::move(program), intrinsics);
}

}  // namespace dovetail::mlir
