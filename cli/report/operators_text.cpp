#include "cli/report/operators_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/import/domain_operators.h"
#include "compiler/import/expand_qoperators.h"
#include "compiler/import/normalize.h"
#include "compiler/import/operator_versions.h"
#include "compiler/import/refused_operators.h"
#include "compiler/ops/op.h"
#include "driver/compile_model.h"
#include "driver/targets.h"

namespace dovetail::cli {
namespace {

using ops::DTypeSet;

struct TypeGroup {
  std::string_view name;
  DTypeSet types;
};
// Names of the most frequent sets of types; other sets are listed type by type.
constexpr std::array<TypeGroup, 7> kGroups{{{"any", ops::kAny},
                                            {"number", ops::kNumber},
                                            {"float", ops::kFloat},
                                            {"integer", ops::kInteger},
                                            {"signed", ops::kSigned},
                                            {"unsigned", ops::kUnsigned},
                                            {"signed, float", ops::kFloat | ops::kSigned}}};

std::vector<std::string> type_names(DTypeSet types) {
  std::vector<std::string> names;
  for (const DTypeInfo& row : kDTypes)
    if (ops::contains(types, row.dtype)) names.emplace_back(row.name);
  return names;
}

std::string types_text(DTypeSet types) {
  for (const TypeGroup& group : kGroups)
    if (group.types == types) return std::string(group.name);
  return fmt::format("{}", fmt::join(type_names(types), ", "));
}

std::string inputs_text(const ops::Signature& signature) {
  std::string text;
  for (const ops::InputRule& input : signature.inputs)
    text += fmt::format("{}{}{}: {}", text.empty() ? "" : "; ", input.name,
                        input.presence == ops::Presence::optional     ? "?"
                        : input.presence == ops::Presence::variadic   ? "..."
                        : input.presence == ops::Presence::any_number ? "...?"
                                                                      : "",
                        types_text(input.types));
  return text;
}

std::string attributes_text(const ops::Signature& signature) {
  std::vector<std::string_view> names;
  for (const ops::AttributeRule& attribute : signature.attributes) names.push_back(attribute.name);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

void collect_operators(const pattern::Pattern& pattern, std::set<std::string>& operators) {
  operators.insert(pattern.operators.begin(), pattern.operators.end());
  for (const pattern::Pattern& operand : pattern.operands) collect_operators(operand, operators);
}

// The rows of a target's table whose pattern names the operator, at its end or inside.
std::vector<std::string> rows_of(const Target& target, std::string_view op) {
  std::vector<std::string> rows;
  for (const PatternRow& row : target.patterns()) {
    std::set<std::string> operators;
    collect_operators(row.pattern, operators);
    if (operators.contains(std::string(op)) && std::ranges::find(rows, row.name) == rows.end())
      rows.push_back(row.name);
  }
  return rows;
}

// Whether the target has a row that matches any operator.
bool takes_all(const Target& target) {
  return std::ranges::any_of(target.patterns(), [](const PatternRow& row) { return row.pattern.operators.empty(); });
}

std::string versions_text(std::string_view op) {
  const import::OperatorVersions* row = import::find_versions(op);
  if (row == nullptr) return "";
  std::vector<std::int64_t> known;
  for (const std::int64_t version : row->versions)
    if (version >= row->oldest_known && version <= row->newest_known) known.push_back(version);
  return fmt::format("{}", fmt::join(known, ", "));
}

std::string one_after_another(const std::vector<std::string>& names) {  // "a, b and c"
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

struct Tables {
  std::vector<TargetPointer> targets;
  std::vector<std::string> everywhere;  // names of the targets that support every operator

  std::string row(const ops::OpDef& def) const {
    std::string special;
    for (const TargetPointer& target : targets)
      if (const auto rows = rows_of(*target, def.op); !rows.empty())
        special += fmt::format("{}{}: {}", special.empty() ? "" : "; ", target->name(), fmt::join(rows, ", "));
    const bool internal = def.op.find('.') != std::string_view::npos;
    std::string text = fmt::format("| {} |", def.op);
    if (!internal) text += fmt::format(" {} |", versions_text(def.op));
    return text + fmt::format(" {} | {} | {} |\n", inputs_text(def.signature), attributes_text(def.signature), special);
  }
};

Result<Tables> tables() {
  Tables tables;
  DOVETAIL_ASSIGN(const isa::HardwareConfig hardware, isa::load_config(driver::kDefaultHardware));
  driver::TargetOptions options;
  options.hardware = hardware;
  options.cpu = std::string(driver::kInterpreter);  // so that the text is the same on every machine
  DOVETAIL_ASSIGN(tables.targets, driver::make_targets(options, {}));
  for (const TargetPointer& target : tables.targets)
    if (takes_all(*target)) tables.everywhere.emplace_back(target->name());
  return tables;
}

// Whether import replaces the operator by other operators.
bool is_expanded(std::string_view op) {
  return import::is_normalized_away(op) || import::is_qoperator(op) || import::is_domain_operator(op);
}
std::vector<std::string_view> expanded_operators() {
  std::vector<std::string_view> ops = import::qoperators();
  const std::vector<std::string_view> contrib = import::domain_operators();
  ops.insert(ops.end(), contrib.begin(), contrib.end());
  std::ranges::sort(ops);
  return ops;
}

}  // namespace

Result<std::string> operators_markdown() {
  DOVETAIL_ASSIGN(const Tables tables, cli::tables());
  std::string text =
      "<!-- Generated from compiler/import, compiler/ops and the targets' tables by `dovetail operators --format "
      "markdown`. Do not edit. -->\n\n# Operators\n\n";
  text += fmt::format(
      "Versions are the operator sets (up to {}) that introduced or changed an operator, as far as its forms are "
      "known; "
      "older forms are rewritten at import ([import.md](../reference/import.md)). "
      "Every operator runs on {}, as far as the CPU's code generator knows the types of its loop program; the last "
      "column names the rows that a target has for it. `?` marks inputs that may be left out, `...` one or more.\n\n",
      import::kNewestOpset, one_after_another(tables.everywhere));
  for (const TypeGroup& group : kGroups)
    if (group.name.find(',') == std::string_view::npos)
      text += fmt::format("- {}: {}\n", group.name, fmt::join(type_names(group.types), ", "));
  text += "\n| operator | versions | inputs and their types | attributes | rows of targets |\n|---|---|---|---|---|\n";
  for (const ops::OpDef& def : ops::all())
    if (def.op.find('.') == std::string_view::npos) text += tables.row(def);

  text += "\n## Replaced at import\n\n| operator | versions |\n|---|---|\n";
  for (const import::OperatorVersions& row : import::operator_versions())
    if (is_expanded(row.op)) text += fmt::format("| {} | {} |\n", row.op, versions_text(row.op));
  for (const std::string_view op : expanded_operators())
    if (import::find_versions(op) == nullptr) text += fmt::format("| {} | |\n", op);

  text += "\n## Refused\n\n| operators | because |\n|---|---|\n";
  for (const import::RefusedOperators& row : import::refused_operators())
    text += fmt::format("| {} | {} |\n", fmt::join(row.ops, ", "), row.why);
  text += "\nONNX operators without support: ";
  std::vector<std::string_view> unknown;
  for (const import::OperatorVersions& row : import::operator_versions())
    if (ops::find(row.op) == nullptr && !is_expanded(row.op) && import::find_refused(row.op) == nullptr)
      unknown.push_back(row.op);
  text += fmt::format("{}.\n", fmt::join(unknown, ", "));

  text +=
      "\n## Operators of the kit\n\nPasses generate these operators; ONNX does not have them.\n\n"
      "| operator | inputs and their types | attributes | rows of targets |\n|---|---|---|---|\n";
  for (const ops::OpDef& def : ops::all())
    if (def.op.find('.') != std::string_view::npos) text += tables.row(def);
  return text;
}

Result<Json> operators_json() {
  DOVETAIL_ASSIGN(const Tables tables, cli::tables());
  Json operators = Json::object();
  for (const ops::OpDef& def : ops::all()) {
    Json inputs = Json::array(), attributes = Json::array(), rows = Json::object();
    for (const ops::InputRule& input : def.signature.inputs)
      inputs.push_back({{"name", input.name}, {"types", type_names(input.types)}});
    for (const ops::AttributeRule& attribute : def.signature.attributes) attributes.push_back(attribute.name);
    for (const TargetPointer& target : tables.targets) rows[std::string(target->name())] = rows_of(*target, def.op);
    const import::OperatorVersions* versions = import::find_versions(def.op);
    operators[std::string(def.op)] = {{"versions", versions ? Json(versions->versions) : Json::array()},
                                      {"inputs", inputs},
                                      {"attributes", attributes},
                                      {"rows", rows}};
  }
  return Json{{"kind", "operators"}, {"operators", operators}, {"every_operator_on", tables.everywhere}};
}

}  // namespace dovetail::cli
