// Traces as text: one step per line, words separated by blanks, "->" before the names of the step's results.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

std::string to_string(const Step& step) {
  std::string text = step.primitive;
  for (const std::string& argument : step.arguments) text += ' ' + argument;
  if (!step.results.empty()) text += " ->";
  for (const std::string& result : step.results) text += ' ' + result;
  return text;
}

std::string to_string(std::span<const Step> trace) {
  std::string text;
  for (const Step& step : trace) text += to_string(step) + '\n';
  return text;
}

Result<std::vector<Step>> parse_trace(std::string_view text, std::string_view where) {
  std::vector<Step> trace;
  Diagnostics errors;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    Step step;
    bool arrow = false;
    while (true) {
      const std::size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) break;
      line = line.substr(begin);
      const std::string word(line.substr(0, line.find_first_of(" \t\r")));
      line = line.substr(word.size());
      if (word == "->" && !arrow && !step.primitive.empty()) arrow = true;
      else if (step.primitive.empty()) step.primitive = word;
      else (arrow ? step.results : step.arguments).push_back(word);
    }
    if (step.primitive.empty()) continue;
    if (!find_primitive(step.primitive)) {
      errors.push_back({fmt::format("unknown schedule primitive {}", step.primitive),
                        fmt::format("{}:{}", where, line_number), "there is no primitive of this name",
                        "see docs/reference/schedules.md for the list"});
      continue;
    }
    trace.push_back(std::move(step));
  }
  if (!errors.empty()) return errors;
  return trace;
}

}  // namespace dovetail::schedule
