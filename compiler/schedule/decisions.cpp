#include "compiler/schedule/decisions.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

namespace {

constexpr std::string_view kSample = "sample", kAmong = "among", kEither = "either", kFactors = "factors";
constexpr std::int64_t kMostParts = 6, kLargestExtent = std::int64_t{1} << 40;
constexpr std::size_t kMostValues = 1 << 16;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// From the largest to 1.
std::vector<std::int64_t> divisors_of(std::int64_t value) {
  std::set<std::int64_t, std::greater<>> all;
  for (std::int64_t d = 1; d * d <= value; ++d)
    if (value % d == 0) all.insert({d, value / d});
  return {all.begin(), all.end()};
}

// Every way to write `extent` as a product of this many factors, each one of `divisors`, appended to `before`.
void append_factors(std::int64_t extent, std::int64_t parts, std::span<const std::int64_t> divisors,
                    const std::string& before, std::vector<std::string>& values) {
  if (values.size() > kMostValues) return;
  if (parts == 1) {
    values.push_back(before + std::to_string(extent));
    return;
  }
  for (const std::int64_t factor : divisors)
    if (extent % factor == 0)
      append_factors(extent / factor, parts - 1, divisors, fmt::format("{}{},", before, factor), values);
}

std::vector<std::string> factors_of(std::int64_t extent, std::int64_t parts) {
  std::vector<std::string> values;
  append_factors(extent, parts, divisors_of(extent), "", values);
  return values;
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Diagnostic undecided(std::string_view name, std::span<const Decision> decisions) {
  std::vector<std::string_view> names;
  for (const Decision& decision : decisions) names.push_back(decision.name);
  return refuse("use", fmt::format("${}", name), "no earlier sample step defines this decision",
                names.empty() ? "write `sample NAME among 4,8,16` first"
                              : fmt::format("the decisions are {}", fmt::join(names, ", ")));
}

// The value that NAME or NAME.i refers to.
Result<std::string> value_of(std::string_view reference, std::span<const Decision> decisions) {
  const std::size_t dot = reference.find('.');
  const std::string_view name = reference.substr(0, dot);
  const auto decision =
      std::ranges::find_if(decisions, [&](const Decision& candidate) { return candidate.name == name; });
  if (decision == decisions.end()) return undecided(name, decisions);
  if (dot == std::string_view::npos) return decision->value;
  const std::vector<std::string> factors = parts_of(decision->value, ',');
  const auto index = integer(reference.substr(dot + 1));
  if (decision->space.rule != kFactors || !index || *index >= static_cast<std::int64_t>(factors.size()))
    return refuse("use", fmt::format("${}", reference),
                  fmt::format("{} is a decision of the form {} {}", name, decision->space.rule, decision->space.text),
                  "write NAME.0 for the first of several factors");
  return factors[static_cast<std::size_t>(*index)];
}

// Integer expressions of decisions, parsed by recursive descent. The first error is kept; later results are
// meaningless.
class Expression {
 public:
  Expression(std::string_view text, std::span<const Decision> decisions) : text_(text), decisions_(decisions) {}

  Result<std::int64_t> value() {
    const std::int64_t result = sum();
    if (errors_.empty() && at_ != text_.size()) fail(fmt::format("unexpected «{}»", text_.substr(at_)));
    if (!errors_.empty()) return errors_;
    return result;
  }

 private:
  static constexpr int kDeepest = 32;

  std::int64_t sum() {
    if (++depth_ > kDeepest) fail("the expression is nested too deeply");
    std::int64_t result = errors_.empty() ? product() : 0;
    while (errors_.empty() && (peek() == '+' || peek() == '-')) {
      const bool minus = text_[at_++] == '-';
      const std::int64_t right = product();
      if (minus ? __builtin_sub_overflow(result, right, &result) : __builtin_add_overflow(result, right, &result))
        fail("a value exceeds 64 bits");
    }
    --depth_;
    return result;
  }

  std::int64_t product() {
    std::int64_t result = factor();
    while (errors_.empty() && (peek() == '*' || peek() == '/' || peek() == '%')) {
      const char op = text_[at_++];
      const std::int64_t right = factor();
      if (op == '*') {
        if (__builtin_mul_overflow(result, right, &result)) fail("a value exceeds 64 bits");
      } else if (right <= 0) {
        fail(fmt::format("the expression divides by {}", right));
      } else {
        result = op == '/' ? result / right : result % right;
      }
    }
    return result;
  }

  std::int64_t factor() {
    if (peek() == '(') {
      ++at_;
      const std::int64_t result = sum();
      expect(')');
      return result;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if ((word == "min" || word == "max") && peek() == '(') {
      ++at_;
      const std::int64_t a = sum();
      expect(',');
      const std::int64_t b = sum();
      expect(')');
      return word == "min" ? std::min(a, b) : std::max(a, b);
    }
    if (word.empty()) return fail("a number or a decision is missing");
    if (const auto number = integer(word)) return *number;
    const Result<std::string> decided = value_of(word, decisions_);
    if (!decided.ok()) {
      if (errors_.empty()) errors_ = decided.errors();
      return 0;
    }
    const auto number = integer(*decided);
    return number ? *number : fail(fmt::format("{} is the word {}, not a number", word, *decided));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(char c) {
    if (peek() == c) ++at_;
    else fail(fmt::format("«{}» is missing", c));
  }
  std::int64_t fail(std::string why) {
    if (errors_.empty())
      errors_.push_back(refuse("compute", fmt::format("$({})", text_), std::move(why),
                               "write numbers, names of decisions, + - * / % ( ), min(a,b) and max(a,b)"));
    return 0;
  }

  std::string_view text_;
  std::span<const Decision> decisions_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Diagnostics errors_;
};

// The end of the expression whose parenthesis opens at `open`; npos if it is not closed.
std::size_t closing(std::string_view word, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < word.size(); ++i) {
    depth += word[i] == '(' ? 1 : word[i] == ')' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

Result<std::string> resolved_word(std::string_view word, std::span<const Decision> decisions) {
  std::string result;
  for (std::size_t at = 0; at < word.size();) {
    if (word[at] != '$') {
      result += word[at++];
      continue;
    }
    if (at + 1 < word.size() && word[at + 1] == '(') {
      const std::size_t end = closing(word, at + 1);
      if (end == std::string_view::npos) return refuse("use", word, "the parenthesis is not closed", "write $(a*b)");
      DOVETAIL_ASSIGN(const std::int64_t value, Expression(word.substr(at + 2, end - at - 2), decisions).value());
      result += std::to_string(value);
      at = end + 1;
      continue;
    }
    std::size_t end = at + 1;
    while (end < word.size() && is_name_character(word[end])) ++end;
    // A factor: a dot, and digits.
    std::size_t digits = end + 1;
    while (end < word.size() && word[end] == '.' && digits < word.size() && word[digits] >= '0' && word[digits] <= '9')
      ++digits;
    if (digits > end + 1) end = digits;
    DOVETAIL_ASSIGN(const std::string value, value_of(word.substr(at + 1, end - at - 1), decisions));
    result += value;
    at = end;
  }
  return result;
}

}  // namespace

std::optional<Decision> decision_of(const Step& step) {
  if (step.primitive != kSample || step.arguments.size() != 5) return std::nullopt;
  auto space = Space::parse(step.arguments[0], step.arguments[1], step.arguments[2]);
  if (!space.ok()) return std::nullopt;
  return Decision{step.arguments[0], *std::move(space), step.arguments[4]};
}

bool is_decision_name(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, is_name_character);
}

Result<Space> Space::parse(std::string_view name, std::string_view rule, std::string_view text) {
  Space space{std::string(rule), std::string(text), {}};
  if (rule == kAmong || rule == kEither) {
    space.values = parts_of(text, rule == kAmong ? ',' : '|');
    if (std::ranges::find(space.values, "") != space.values.end())
      return refuse(kSample, name, fmt::format("a candidate of «{}» is empty", text), "write `among 4,8,16`");
  } else if (rule == kFactors) {
    const std::size_t colon = text.find(':');
    const auto extent = integer(text.substr(0, colon));
    const auto parts = colon == std::string_view::npos ? std::nullopt : integer(text.substr(colon + 1));
    if (!extent || !parts || *extent < 1 || *extent > kLargestExtent || *parts < 2 || *parts > kMostParts)
      return refuse(kSample, name, fmt::format("«{}» is not a number with 2 to {} factors", text, kMostParts),
                    "write `factors 48:3`");
    space.values = factors_of(*extent, *parts);
  } else {
    return refuse(kSample, name, fmt::format("«{}» is not a rule", rule), "the rules are among, either and factors");
  }
  if (space.values.size() > kMostValues)
    return refuse(kSample, name, fmt::format("the decision has more than {} values", kMostValues),
                  "give fewer candidates");
  return space;
}

Space Space::among(std::span<const std::int64_t> numbers) {
  std::vector<std::string> words;
  for (const std::int64_t number : numbers) words.push_back(std::to_string(number));
  return among(std::move(words));
}

Space Space::among(std::vector<std::string> words) {
  const bool commas = std::ranges::any_of(words, [](const std::string& word) { return word.find(',') != word.npos; });
  std::string text = fmt::format("{}", fmt::join(words, commas ? "|" : ","));
  return {std::string(commas ? kEither : kAmong), std::move(text), std::move(words)};
}

Space Space::factors(std::int64_t extent, int parts) {
  return {std::string(kFactors), fmt::format("{}:{}", extent, parts), factors_of(extent, parts)};
}

std::optional<std::size_t> Space::find(std::string_view value) const {
  const auto found = std::ranges::find(values, value);
  return found == values.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - values.begin()));
}

Result<void> require_value(std::string_view name, const Space& space, std::string_view value) {
  if (space.find(value)) return {};
  constexpr std::size_t kShown = 16;
  const std::span shown = std::span(space.values).first(std::min(kShown, space.values.size()));
  return refuse(
      kSample, name, fmt::format("{} is not among the candidates", value),
      fmt::format("choose one of {}{}", fmt::join(shown, ", "),
                  shown.size() < space.values.size() ? fmt::format(" and {} more", space.values.size() - kShown) : ""));
}

Result<Step> resolve(const Step& step, std::span<const Decision> decisions) {
  if (step.primitive == kSample)
    for (const Decision& decision : decisions)
      if (decision.name == step.arguments[0])
        return refuse(kSample, decision.name, fmt::format("the decision already exists, with value {}", decision.value),
                      "choose another name");
  Step resolved = step;
  for (std::string& word : resolved.arguments)
    if (word.find('$') != std::string::npos) {
      DOVETAIL_ASSIGN(word, resolved_word(word, decisions));
    }
  return resolved;
}

}  // namespace dovetail::schedule
