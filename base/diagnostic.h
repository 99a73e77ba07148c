// A user's mistake or a lack of machine resources, reported so that it can be fixed: what happened, where, which rule
// was broken, and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail {

enum class Cause : std::uint8_t {
  input,     // a mistake in what the user asked for
  request,   // likewise, but found only by the work: an option asks for what is impossible for this model
  work,      // the request is valid, and the work failed: a model that does not compile, a run that ends early
  resource,  // the machine has run out: a full disk, no memory, no thread. The same request may succeed later
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

// The cause of a failed system call: ENOSPC is a resource error, EACCES a user's mistake.
Cause cause_of(int error_number);
// The greatest Cause of the diagnostics.
Cause cause_of(const Diagnostics& diagnostics);
// Whether the user made a mistake, rather than the work or the machine having failed.
constexpr bool is_mistake(Cause cause) { return cause <= Cause::request; }
// The diagnostics, with Cause::input replaced by Cause::work.
Diagnostics failed_work(Diagnostics diagnostics);

// One paragraph per diagnostic: "<severity>: what (where): why. Hint: ...".
std::string to_string(const Diagnostic& diagnostic, std::string_view severity = "error");
std::string to_string(const Diagnostics& diagnostics, std::string_view severity = "error");

}  // namespace dovetail
