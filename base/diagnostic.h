// A user's mistake, reported so that it can be fixed: what happened, where, which rule was broken, and the remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dovetail {

struct Diagnostic {
  std::string what;   // the action that failed and the object, e.g. "cannot lower conv3"
  std::string where;  // file, node, instruction or field; empty where the whole input is meant
  std::string why;    // the violated rule, with both numbers
  std::string hint;   // what to change; empty only where nothing can be done

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

// One paragraph per diagnostic: "<severity>: what (where): why. Hint: ...".
std::string to_string(const Diagnostic& diagnostic, std::string_view severity = "error");
std::string to_string(const Diagnostics& diagnostics, std::string_view severity = "error");

}  // namespace dovetail
