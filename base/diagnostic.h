// A user's mistake, or what the machine cannot give, reported so that it can be fixed: what happened, where, which rule
// was broken, and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail {

enum class Cause : std::uint8_t {
  input,  // what the user has asked for
  work,   // what was asked for is in order, and the work failed: a model that does not compile, a run that ends early
  resource,  // the machine has no more: a full disk, no memory, no thread. The same may succeed another time
};

struct Diagnostic {
  std::string what;   // the action that failed and the object, e.g. "cannot lower conv3"
  std::string where;  // file, node, instruction or field; empty where the whole input is meant
  std::string why;    // the violated rule, with both numbers
  std::string hint;   // what to change; empty only where nothing can be done
  Cause cause = Cause::input;

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

// Of a system call that failed: ENOSPC is the machine's, EACCES the user's.
Cause cause_of(int error_number);
// The last of Cause that one of them has.
Cause cause_of(const Diagnostics& diagnostics);
// Those of Cause::input become Cause::work.
Diagnostics failed_work(Diagnostics diagnostics);

// One paragraph per diagnostic: "<severity>: what (where): why. Hint: ...".
std::string to_string(const Diagnostic& diagnostic, std::string_view severity = "error");
std::string to_string(const Diagnostics& diagnostics, std::string_view severity = "error");

}  // namespace dovetail
