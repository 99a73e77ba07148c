#include "driver/names.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace dovetail::driver {

std::string plain_name(std::string_view name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); i += character_bytes(name.substr(i))) {
    const char c = name[i];
    const bool kept =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    plain += kept ? c : '_';
  }
  return plain;
}

Result<std::string> match_name(std::string_view source, std::string_view kind, const std::vector<std::string>& names,
                               std::string_view given) {
  if (std::find(names.begin(), names.end(), given) != names.end()) return std::string(given);
  std::vector<std::string> matches;
  for (const std::string& name : names)
    if (plain_name(name) == plain_name(given)) matches.push_back(name);
  if (matches.size() == 1) return matches.front();
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{fmt::format("invalid value for {}", source), std::string(given), std::move(why), std::move(hint)};
  };
  if (matches.empty())
    return bad(fmt::format("the model has no {} of that name", kind),
               fmt::format("there are: {}", names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  return bad(fmt::format("it could be {}", fmt::join(matches, " or ")), "write the name exactly");
}

}  // namespace dovetail::driver
