#include "isa/text/symbols.h"

#include <utility>

#include <fmt/format.h>

#include "isa/nearest.h"
#include "isa/semantics/window.h"
#include "isa/spec/config.h"
#include "isa/spec/memories.h"

namespace dovetail::isa::text {

void Symbols::define(Symbol symbol) {
  places_.emplace(symbol.name, symbols_.size());
  symbols_.push_back(std::move(symbol));
}

Symbol* Symbols::find(std::string_view name) {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &symbols_[place->second];
}
const Symbol* Symbols::find(std::string_view name) const { return const_cast<Symbols*>(this)->find(name); }

std::optional<Value> Symbols::property(const Symbol& symbol, std::string_view name) {
  if (symbol.kind != SymbolKind::address || !symbol.is_closed) return std::nullopt;
  if (name == "bytes") return Value{static_cast<std::int64_t>(symbol.bytes), false};
  if (name == "end") return Value{static_cast<std::int64_t>(symbol.value + symbol.bytes), true};
  if (name == "count") return Value{element_count(symbol.shape), false};
  if (name.starts_with("dim")) {
    const auto axis = parse_number(name.substr(3));
    if (axis && *axis < symbol.shape.size()) return Value{symbol.shape[*axis], false};
  }
  return std::nullopt;
}

std::optional<Value> Symbols::value(std::string_view name) const {
  if (const Symbol* symbol = find(name)) {
    if (symbol->kind == SymbolKind::instruction) return std::nullopt;
    return Value{static_cast<std::int64_t>(symbol->value), symbol->kind == SymbolKind::address};
  }
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos)
    if (const Symbol* symbol = find(name.substr(0, dot))) return property(*symbol, name.substr(dot + 1));
  const auto number = predefined(name);
  if (!number) return std::nullopt;
  used_config_ = true;
  return Value{*number, false};
}

std::optional<std::int64_t> Symbols::predefined(std::string_view name) const {
  for (const spec::Parameter& row : spec::kParameters)
    if (row.key == name) return config_.*row.member;
  if (name == "uop.push") return semantics::push_only(config_);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  for (const spec::MemoryInfo& row : spec::kMemories) {
    if (row.name != name.substr(0, dot)) continue;
    if (name.substr(dot + 1) == "bytes") return config_.element_bytes(row.id);
    if (name.substr(dot + 1) == "depth") return config_.depth(row.id);
  }
  return std::nullopt;
}

std::string Symbols::suggestion(std::string_view name) const {
  constexpr std::size_t kMostCompared = 1000;  // each comparison computes an edit distance
  std::vector<std::string_view> candidates;
  const std::size_t dot = name.rfind('.');
  if (const Symbol* owner = dot == std::string_view::npos ? nullptr : find(name.substr(0, dot))) {
    if (owner->kind != SymbolKind::address)
      return fmt::format("`{}` is not an address in the image: only addresses have .bytes, .end, .count and .dim0",
                         owner->name);
    return fmt::format("`{}` has .bytes, .end, .count{}", owner->name,
                       owner->shape.empty() ? "" : fmt::format(" and .dim0 to .dim{}", owner->shape.size() - 1));
  }
  for (const Symbol& symbol : symbols_)
    if (candidates.size() < kMostCompared) candidates.push_back(symbol.name);
  for (const spec::Parameter& row : spec::kParameters) candidates.push_back(row.key);
  const std::string nearest = isa::suggestion(name, candidates);
  return nearest.starts_with("did you mean")
             ? nearest
             : "define it: .equ NAME VALUE, .data, .space, or a label before .uop lines";
}

bool is_free_name(Word name, const Line& line, const Symbols& symbols, Errors& errors) {
  std::string why, hint = "choose another name";
  if (!is_symbol_name(name.text)) {
    why = fmt::format("`{}` is not a name", name.text);
    hint = "use letters, digits, `_` and `.`; begin with a letter or `_`";
  } else if (const Symbol* symbol = symbols.find(name.text)) {
    why = fmt::format("`{}` is already defined in line {}", name.text, symbol->line);
  } else if (symbols.is_predefined(name.text)) {
    why = fmt::format("`{}` belongs to the configuration", name.text);
  } else {
    return true;
  }
  errors.add(line, name.column, std::move(why), std::move(hint));
  return false;
}

bool Symbols::is_spoiled(std::string_view name) const {
  const auto is_lost = [&](std::string_view word) { return spoiled_.contains(word) && find(word) == nullptr; };
  return is_lost(name) || is_lost(name.substr(0, name.rfind('.')));
}

std::vector<Symbol> Symbols::take() { return std::move(symbols_); }

}  // namespace dovetail::isa::text
