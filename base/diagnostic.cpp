#include "base/diagnostic.h"

#include <algorithm>
#include <cerrno>

namespace dovetail {

Cause cause_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE: return Cause::resource;
    default: return Cause::input;
  }
}

Cause cause_of(const Diagnostics& diagnostics) {
  Cause cause = Cause::input;
  for (const Diagnostic& diagnostic : diagnostics) cause = std::max(cause, diagnostic.cause);
  return cause;
}

Diagnostics failed_work(Diagnostics diagnostics) {
  for (Diagnostic& diagnostic : diagnostics)
    if (diagnostic.cause == Cause::input) diagnostic.cause = Cause::work;
  return diagnostics;
}

std::string to_string(const Diagnostic& diagnostic, std::string_view severity) {
  std::string text(severity);
  text += ": ";
  text += diagnostic.what;
  if (!diagnostic.where.empty()) text += " (" + diagnostic.where + ")";
  if (!diagnostic.why.empty()) text += ": " + diagnostic.why;
  if (!diagnostic.hint.empty()) text += ". Hint: " + diagnostic.hint;
  return text;
}

std::string to_string(const Diagnostics& diagnostics, std::string_view severity) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic, severity);
  }
  return text;
}

}  // namespace dovetail
