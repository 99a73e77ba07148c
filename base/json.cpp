#include "base/json.h"

#include "base/json_problem.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"

namespace dovetail {

namespace {

// Deeper input is refused: printing, copying and comparing a document recurse over it.
constexpr int kMaxDepth = 500;

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." -> "syntax error ..."
std::string without_prefix(std::string message) {
  message = json_problem(std::move(message));
  const std::size_t place_end = message.find(": ");
  if (message.starts_with("parse error") && place_end != std::string::npos) message.erase(0, place_end + 2);
  return message;
}

}  // namespace

std::string json_problem(std::string message) {
  const std::size_t id_end = message.find("] ");
  if (id_end != std::string::npos) message.erase(0, id_end + 2);
  return message;
}

Result<Json> parse_json(std::string_view text, std::string_view where) {
  Diagnostics problems;
  std::vector<std::set<std::string>> open_objects;
  bool too_deep = false;
  const auto observe = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start: open_objects.emplace_back(); break;
      case Event::object_end: open_objects.pop_back(); break;
      case Event::key:
        if (const auto& key = parsed.get_ref<const std::string&>(); !open_objects.back().insert(key).second)
          problems.push_back({"cannot read JSON", std::string(where),
                              fmt::format("the key \"{}\" occurs twice in one object", key),
                              "remove one of the two occurrences"});
        break;
      case Event::array_start:
      case Event::array_end:
      case Event::value: break;
    }
    if (depth < kMaxDepth) return true;
    too_deep = true;
    return false;  // not stored, so that the depth of the document stays bounded
  };
  Json document;
  try {
    document = Json::parse(text.begin(), text.end(), observe);
  } catch (const Json::parse_error& error) {
    problems.push_back({"cannot read JSON",
                        fmt::format("{}:{}", where, line_and_column(text, error.byte > 0 ? error.byte - 1 : 0)),
                        without_prefix(error.what()), "correct the text at that place"});
    return problems;
  } catch (const Json::out_of_range& error) {  // its text has the number, but no position
    problems.push_back(
        {"cannot read JSON", std::string(where), without_prefix(error.what()), "numbers must fit binary64"});
    return problems;
  }
  if (too_deep)
    return Diagnostic{"cannot read JSON", std::string(where),
                      fmt::format("arrays and objects nest deeper than {} levels", kMaxDepth), "flatten the document"};
  if (!problems.empty()) return problems;
  return document;
}

Result<Json> read_json_file(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path));
  return parse_json(text, path.string());
}

}  // namespace dovetail
