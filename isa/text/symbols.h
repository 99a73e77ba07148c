// The symbols of an assembly file, and those of the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "isa/config.h"
#include "isa/text.h"
#include "isa/text/scan.h"

namespace dovetail::isa::text {

// A number; or a physical byte address, which must not be used as a count of elements.
struct Value {
  std::int64_t number = 0;
  bool is_address = false;
};

class Symbols {
 public:
  explicit Symbols(const HardwareConfig& config) : config_(config) {}

  const HardwareConfig& config() const { return config_; }
  // Precondition of define(): find() returns null for the name.
  void define(Symbol symbol);
  // A symbol of the file, by its own name.
  Symbol* find(std::string_view name);
  const Symbol* find(std::string_view name) const;

  // The file's names, their properties (`x.bytes`, `x.end`, `x.count`, `x.dim0`), and the configuration's: parameters
  // by their keys, `inp.bytes` and `inp.depth` of each memory. nullopt: unknown, or not known yet.
  std::optional<Value> value(std::string_view name) const;
  // Whether the configuration defines that name, so that the file may not.
  bool is_predefined(std::string_view name) const { return predefined(name).has_value(); }
  // Whether a value has depended on the configuration.
  bool used_config() const { return used_config_; }

  // "did you mean ...", or how to define a name.
  std::string suggestion(std::string_view name) const;
  // Marks the line that defines the name as faulty, unless define() follows: uses of the name, and of its properties,
  // are not reported as separate errors.
  void spoil(std::string_view name) { spoiled_.emplace(name); }
  bool is_spoiled(std::string_view name) const;
  // In the order of definition.
  std::vector<Symbol> take();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::optional<std::int64_t> predefined(std::string_view name) const;
  static std::optional<Value> property(const Symbol& symbol, std::string_view name);

  const HardwareConfig& config_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
  std::vector<Symbol> symbols_;
  std::unordered_set<std::string, Hash, std::equal_to<>> spoiled_;
  mutable bool used_config_ = false;
};

// Whether `name` may be defined; otherwise reports an error with the reason.
bool is_free_name(Word name, const Line& line, const Symbols& symbols, Errors& errors);

}  // namespace dovetail::isa::text
