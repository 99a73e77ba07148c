#include "base/diagnostic.h"

namespace dovetail {

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
