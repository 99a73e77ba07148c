// YAML files as values, by libyaml, which a build may lack.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dovetail::driver {

struct Yaml {
  enum class Kind { scalar, list, map };
  Kind kind = Kind::scalar;
  int line = 0;                                            // in the file, from 1
  std::string text = {};                                   // of a scalar
  std::vector<Yaml> items = {};                            // of a list
  std::vector<std::pair<std::string, Yaml>> entries = {};  // of a map, in the file's order; keys are scalars

  const Yaml* find(std::string_view key) const;  // null: no entry, or not a map
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
};

// The documents of a file. Aliases are replaced by what they name. Errors: a build without libyaml, syntax with its
// line, keys that are not scalars or occur twice, more than 2^20 nodes or 64 levels. `where` names the file.
Result<std::vector<Yaml>> parse_yaml(std::string_view text, const std::string& where);

}  // namespace dovetail::driver
