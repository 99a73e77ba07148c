#include "isa/text/expand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/nearest.h"
#include "isa/text/expression.h"

namespace dovetail::isa::text {

namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 16;  // a parameter used twice in a line doubles its argument
constexpr std::size_t kLengthOfLine = 256;                  // a longer line counts as several

// The directive of a line, without scanning the whole line; empty: another kind of line.
std::string_view directive_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return {};
  if (const std::size_t first = text.find_first_not_of(" \t\r"); first != dot) {  // at most a label precedes it
    Line line;
    scan_line(text, {}, line);
    return line.words.empty() ? std::string_view{} : line.words.front().text;
  }
  return text.substr(dot, std::min(text.find_first_of(" \t\r#;,/", dot), text.size()) - dot);
}

std::string_view end_of(std::string_view directive) { return directive == ".macro" ? ".endm" : ".endr"; }

std::string unquoted(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

// `text` with every \name of an argument replaced; compound arguments are put in parentheses, except within quotation
// marks.
void substitute(std::string_view text, const auto& arguments, std::string& into) {
  into.clear();
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] != '\\') {
      into += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    if (end < text.size() && text[end] == '@') ++end;
    else
      while (end < text.size() && is_symbol_letter(text[end]) && text[end] != '.') ++end;
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto argument =
        std::find_if(arguments.begin(), arguments.end(), [&](const auto& entry) { return entry.name == name; });
    if (argument == arguments.end()) into += text.substr(at, end - at);
    else if (!quoted && is_compound(argument->value)) into += '(' + argument->value + ')';
    else into += argument->value;
    at = end;
  }
}

}  // namespace

void Expander::run(std::string_view source) {
  std::optional<Open> open;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin <= source.size(); ++number) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    line({source.substr(begin, end - begin), {number, nullptr, false, order_++}}, open);
    begin = end + 1;
  }
  end_of_level(open);
}

void Expander::end_of_level(std::optional<Open>& open) {
  if (!open) return;
  const std::string_view head = open->head.words.front().text;
  errors_.add(open->head, open->head.words.front().column, fmt::format("`{}` has no `{}`", head, end_of(head)),
              fmt::format("write {} after its lines", end_of(head)));
}

void Expander::line(Text text, std::optional<Open>& open) {
  if (open) {
    bool is_complete = false;
    collect(text, *open, is_complete);
    if (!is_complete) return;
    const Open complete = *std::exchange(open, std::nullopt);
    return complete.is_macro ? define(complete) : repeat(complete);
  }
  scan_line(text.text, text.place, line_);
  if (line_.words.empty()) {
    if (line_.label) sink_(line_);
    return;
  }
  const Word head = line_.words.front();
  if (head.text.front() == '.') {
    if (head.text == ".repeat" || head.text == ".macro") {
      const Line copy = line_;
      return begin(copy, open);
    }
    if (head.text == ".endr" || head.text == ".endm")
      return errors_.add(line_, head.column, fmt::format("`{}` has no beginning", head.text),
                         head.text == ".endr" ? "write .repeat COUNT before it" : "write .macro NAME before it");
  } else if (!macros_.empty()) {
    if (const auto macro = macros_.find(head.text); macro != macros_.end()) {
      const Line copy = line_;
      return use(copy, macro->second);
    }
  }
  sink_(line_);
}

void Expander::collect(const Text& text, Open& open, bool& is_complete) {
  const std::string_view directive = directive_of(text.text);
  if (directive == ".macro" || directive == ".repeat") open.inner.push_back(end_of(directive));
  if (directive == ".endm" || directive == ".endr") {
    const std::string_view expected = open.inner.empty() ? end_of(open.head.words.front().text) : open.inner.back();
    if (directive != expected)
      errors_.add(text.place, 1, fmt::format("expected `{1}`, found `{0}`", directive, expected),
                  fmt::format("first end the block that begins in line {}", open.head.place.line));
    if (open.inner.empty()) {
      is_complete = true;
      return;
    }
    open.inner.pop_back();
  }
  open.body.push_back(text);
}

void Expander::begin(const Line& head, std::optional<Open>& open) {
  if (head.label) {
    Line label = head;
    label.words.clear();
    sink_(label);
  }
  const bool is_macro = head.words.front().text == ".macro";
  if (is_macro && head.place.within != nullptr)
    errors_.add(head, head.words.front().column, "a macro in a macro or a .repeat", "define it outside");
  open = Open{head, {}, {}, is_macro};
}

void Expander::define(const Open& open) {
  const Line& head = open.head;
  if (head.place.within != nullptr) return;  // reported already
  if (head.words.size() < 2)
    return errors_.add(head, head.words.front().column, "a macro without a name", "write .macro NAME PARAMETER...");
  const Word name = head.words[1];
  if (!is_symbol_name(name.text))
    return errors_.add(head, name.column, fmt::format("`{}` is not a name", name.text),
                       "use letters, digits, `_` and `.`; begin with a letter or `_`");
  if (is_taken_(name.text))
    return errors_.add(head, name.column, fmt::format("`{}` is an instruction", name.text), "choose another name");
  if (const auto earlier = macros_.find(name.text); earlier != macros_.end())
    return errors_.add(head, name.column,
                       fmt::format("the macro `{}` is already defined in line {}", name.text, earlier->second.line),
                       "choose another name");
  Macro macro{head.place.line, {}, open.body};
  for (std::size_t i = 2; i < head.words.size(); ++i) {
    const Word word = head.words[i];
    const std::size_t equals = word.text.find('=');
    Parameter parameter{std::string(word.text.substr(0, equals)), std::nullopt};
    if (equals != std::string_view::npos) parameter.preset = unquoted(word.text.substr(equals + 1));
    if (!is_symbol_name(parameter.name) || parameter.name.find('.') != std::string::npos)
      errors_.add(head, word.column, fmt::format("`{}` is not a parameter name", parameter.name),
                  "use letters, digits and `_`; begin with a letter or `_`");
    for (const Parameter& earlier : macro.parameters)
      if (earlier.name == parameter.name)
        errors_.add(head, word.column, fmt::format("the parameter `{}` occurs twice", parameter.name),
                    "remove one of the two");
    macro.parameters.push_back(std::move(parameter));
  }
  macros_.emplace(name.text, std::move(macro));
}

void Expander::repeat(const Open& open) {
  const Line& head = open.head;
  const std::size_t column = head.words.front().column;
  if (head.words.size() < 2 || head.words.size() > 3)
    return errors_.add(head, column, ".repeat needs a count, and may have a name for the iteration",
                       "write .repeat COUNT [NAME]");
  ExpressionFault fault;
  const auto count = evaluate(head.words[1], symbols_, fault);
  if (!count) return report(std::move(fault), head, true, errors_);
  if (count->number < 0 || count->number > static_cast<std::int64_t>(kMostExpandedLines))
    return errors_.add(head, head.words[1].column,
                       fmt::format("the count is {}, but must be from 0 to {}", count->number, kMostExpandedLines),
                       "repeat less often; GEMM and ALU have their own loops");
  std::vector<Argument> arguments;
  if (head.words.size() == 3) {
    if (!is_symbol_name(head.words[2].text) || head.words[2].text.find('.') != std::string_view::npos)
      return errors_.add(head, head.words[2].column, fmt::format("`{}` is not a name", head.words[2].text),
                         "use letters, digits and `_`; begin with a letter or `_`");
    arguments.push_back({head.words[2].text, {}});
  }
  for (std::int64_t round = 0; round < count->number && admit(head.place); ++round) {
    if (!arguments.empty()) arguments.front().value = fmt::format("{}", round);
    expand(open.body, arguments, {fmt::format("round {} of .repeat", round), head.place.line, head.place.within},
           head.place);
  }
}

bool Expander::arguments(const Line& line, const Macro& macro, std::vector<Argument>& into) {
  std::vector<std::optional<std::string>> values(macro.parameters.size());
  std::size_t next = 0;
  const std::string_view name = line.words.front().text;
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    Word word = line.words[i];
    const std::size_t equals = word.text.find('=');
    const auto named = std::find_if(macro.parameters.begin(), macro.parameters.end(), [&](const Parameter& parameter) {
      return equals != std::string_view::npos && parameter.name == word.text.substr(0, equals);
    });
    std::size_t place = next;
    if (named != macro.parameters.end()) {
      place = static_cast<std::size_t>(named - macro.parameters.begin());
      word = word.from(equals + 1);
    } else {
      while (place < values.size() && values[place]) ++place;
      next = place;
    }
    if (place >= values.size()) {
      errors_.add(line, word.column,
                  fmt::format("`{}` is unexpected: the macro `{}` of line {} has {} parameters", word.text, name,
                              macro.line, values.size()),
                  "put an argument that has blanks in quotation marks");
      return false;
    }
    if (values[place]) {
      errors_.add(line, word.column, fmt::format("`{}` occurs twice", macro.parameters[place].name),
                  "remove one of the two");
      return false;
    }
    values[place] = unquoted(word.text);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (!values[i] && !parameter.preset) {
      errors_.add(line, line.words.front().column,
                  fmt::format("the macro `{}` of line {} needs `{}`", name, macro.line, parameter.name),
                  fmt::format("write {} ... {}=VALUE", name, parameter.name));
      return false;
    }
    into.push_back({parameter.name, values[i] ? *values[i] : *parameter.preset});
  }
  return true;
}

void Expander::use(const Line& line, const Macro& macro) {
  if (line.label) {
    Line label = line;
    label.words.clear();
    sink_(label);
  }
  std::vector<Argument> values;
  if (!admit(line.place) || !arguments(line, macro, values)) return;
  const std::string number = fmt::format("{}", uses_++);
  values.push_back({"@", number});
  expand(macro.body, values, {fmt::format("macro `{}`", line.words.front().text), line.place.line, line.place.within},
         line.place);
}

void Expander::expand(const std::vector<Text>& body, const std::vector<Argument>& arguments, Expansion expansion,
                      const Place& used_at) {
  if (depth_ == kMostNestedExpansions) {
    if (!std::exchange(stopped_, true))
      errors_.add(used_at, 1, fmt::format("macros and .repeat nest deeper than {}", kMostNestedExpansions),
                  "a macro that uses itself never ends");
    return;
  }
  ++depth_;
  expansions_.push_back(std::move(expansion));
  const Expansion* within = &expansions_.back();
  std::deque<std::string> texts;  // outlives the lines collected at this level
  std::optional<Open> open;
  for (const Text& text : body) {
    if (!admit(text.place)) break;
    Place place = text.place;
    place.within = within;
    place.order = order_++;
    if (text.text.find('\\') == std::string_view::npos) {
      line({text.text, place}, open);
      continue;
    }
    texts.emplace_back();
    substitute(text.text, arguments, texts.back());
    place.substituted |= texts.back() != text.text;
    if (!admit_length(texts.back().size(), place)) break;
    line({texts.back(), place}, open);
    if (!open) texts.clear();
  }
  if (!stopped_) end_of_level(open);
  --depth_;
}

bool Expander::admit_length(std::size_t length, const Place& place) {
  expanded_ += length / kLengthOfLine;
  if (length > kLongestLine && !std::exchange(stopped_, true))
    errors_.add(place, 1,
                fmt::format("with its parameters the line has {} characters, more than {}", length, kLongestLine),
                "pass shorter arguments");
  return !stopped_;
}

bool Expander::admit(const Place& place) {
  if (stopped_) return false;
  if (errors_.full()) stopped_ = true;
  else if (++expanded_ > kMostExpandedLines) {
    stopped_ = true;
    errors_.add(place, 1, fmt::format("macros and .repeat make more than {} lines", kMostExpandedLines),
                "repeat less often; GEMM and ALU have their own loops");
  }
  return !stopped_;
}

}  // namespace dovetail::isa::text
