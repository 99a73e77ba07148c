#include "compiler/partition/pattern.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace dovetail::pattern {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Pattern> run() {
    Pattern pattern = read_pattern();
    skip();
    if (error_.empty() && at_ != text_.size()) fail("unexpected text after the pattern");
    if (!error_.empty())
      return Diagnostic{"cannot read pattern", fmt::format("{}, character {}", text_, at_ + 1), error_,
                        "for example Relu?(Add~(MatMul(x=_, w=#), b=#))"};
    return pattern;
  }

 private:
  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  void skip() {
    while (error_.empty() && at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!error_.empty() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (error_.empty() && at_ < text_.size() && in_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Pattern read_pattern() {
    Pattern pattern;
    if (take("#")) pattern.kind = Kind::constant;
    else if (take("-")) pattern.kind = Kind::absent;
    else if (take("*")) read_node(pattern);
    else {
      const std::string first = word();
      if (first.empty()) fail("expected a name, an operator, _, #, - or *");
      else if (take("=")) {
        pattern = read_pattern();
        if (!pattern.name.empty()) fail("a value cannot have two names");
        if (pattern.kind == Kind::absent) fail("an omitted operand cannot have a name");
        pattern.name = first;
      } else if (first != "_") {
        pattern.operators.push_back(first);
        while (take("|")) {
          pattern.operators.push_back(word());
          if (pattern.operators.back().empty()) fail("expected an operator after |");
        }
        read_node(pattern);
      }
    }
    return pattern;
  }

  void read_node(Pattern& pattern) {
    pattern.kind = Kind::node;
    pattern.commutative = take("~");
    pattern.optional = take("?");
    if (!take("(")) {
      pattern.open = true;
    } else if (!take(")")) {
      do {
        if (take("...")) {
          pattern.open = true;
          break;
        }
        pattern.operands.push_back(read_pattern());
      } while (error_.empty() && take(","));
      if (error_.empty() && !take(")")) fail("expected , or )");
    }
    if (pattern.commutative && pattern.operands.size() < 2) fail("~ needs two operands to swap");
    if (pattern.optional && pattern.operands.empty()) fail("? needs an operand that replaces the missing node");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

// The state of one matching attempt. Attempts are values: every choice copies.
struct Attempt {
  std::vector<NodeId> nodes;
  std::map<std::string, ValueId> values;
};
using Attempts = std::vector<Attempt>;

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  Result<Found> run(NodeId root, const Pattern& pattern) {
    DOVETAIL_CHECK(pattern.kind == Kind::node, "a pattern of a table must match a node: " + to_string(pattern));
    const graph::Node& node = graph_.node(root);
    // The root is one node, which may have several results: it is matched by the first that exists.
    const auto result = std::ranges::find_if(node.outputs, [](ValueId output) { return output.valid(); });
    DOVETAIL_CHECK(result != node.outputs.end(), node.name + " yields nothing");
    for (Attempt& attempt : match_value(pattern, *result, {}, node.name)) {
      if (attempt.nodes.empty() || attempt.nodes.back() != root) continue;
      if (closed(attempt)) return found(std::move(attempt));
    }
    return Diagnostic{fmt::format("{} does not match", node.name), node.name, why_,
                      fmt::format("the pattern is {}", to_string(pattern))};
  }

 private:
  // All ways to match `pattern` ending in `value`, given the matches so far. `what` describes the operand.
  Attempts match_value(const Pattern& pattern, ValueId value, const Attempt& given, const std::string& what) {
    if (pattern.kind == Kind::absent) {
      if (!value.valid()) return {given};
      return refuse(fmt::format("{} is given, but the pattern omits it", what));
    }
    if (!value.valid()) return refuse(fmt::format("{} is omitted, but the pattern needs it", what));
    Attempts attempts;
    if (pattern.kind == Kind::node) attempts = match_node(pattern, value, given, what);
    else if (pattern.kind == Kind::value || graph_.is_constant(value)) attempts = {given};
    else return refuse(fmt::format("{} is not a constant", what));
    if (pattern.name.empty()) return attempts;
    std::erase_if(attempts, [&](Attempt& attempt) {
      const ValueId known = attempt.values.emplace(pattern.name, value).first->second;
      if (known != value)
        refuse(fmt::format("{} matches both {} and {}, which differ", pattern.name, graph_.value(known).name,
                           graph_.value(value).name));
      return known != value;
    });
    return attempts;
  }

  Attempts match_node(const Pattern& pattern, ValueId value, const Attempt& given, const std::string& what) {
    Attempts attempts;
    const NodeId id = graph_.value(value).producer;
    const auto is = [&](const std::string& op) {
      return pattern.operators.empty() || std::ranges::find(pattern.operators, op) != pattern.operators.end();
    };
    if (id.valid() && is(graph_.node(id).op)) {
      ++depth_;
      attempts = match_operands(pattern, graph_.node(id), given);
      --depth_;
      for (Attempt& attempt : attempts)
        if (std::ranges::find(attempt.nodes, id) == attempt.nodes.end()) attempt.nodes.push_back(id);
    } else if (!pattern.optional) {
      const std::string expected =
          pattern.operators.empty() ? "the result of a node" : fmt::format("{}", fmt::join(pattern.operators, " or "));
      refuse(fmt::format("{} is {}, not {}", what,
                         id.valid()                  ? graph_.node(id).op
                         : graph_.is_constant(value) ? "a constant"
                                                     : "an input of the model",
                         expected),
             id.valid());
    }
    if (pattern.optional)
      for (Attempt& attempt : match_value(pattern.operands[0], value, given, what))
        attempts.push_back(std::move(attempt));
    return attempts;
  }

  Attempts match_operands(const Pattern& pattern, const graph::Node& node, const Attempt& given) {
    for (std::size_t i = pattern.operands.size(); i < node.inputs.size() && !pattern.open; ++i)
      if (node.inputs[i].valid())
        return refuse(fmt::format("{} has {} operands, but the pattern {}", node.name, node.inputs.size(),
                                  pattern.operands.size()));
    Attempts all;
    for (const bool exchanged : {false, true}) {
      if (exchanged && !pattern.commutative) break;
      Attempts attempts{given};
      for (std::size_t i = 0; i < pattern.operands.size() && !attempts.empty(); ++i) {
        const std::size_t position = exchanged && i < 2 ? 1 - i : i;
        const ValueId operand = position < node.inputs.size() ? node.inputs[position] : ValueId{};
        const std::string& name = pattern.operands[i].name;
        const std::string what = name.empty() ? fmt::format("operand {} of {}", position, node.name)
                                              : fmt::format("the operand `{}` of {}", name, node.name);
        Attempts next;
        for (const Attempt& attempt : attempts)
          for (Attempt& further : match_value(pattern.operands[i], operand, attempt, what))
            next.push_back(std::move(further));
        attempts = std::move(next);
      }
      for (Attempt& attempt : attempts) all.push_back(std::move(attempt));
    }
    return all;
  }

  bool closed(const Attempt& attempt) {
    depth_ = graph_.nodes.size();  // a match that is not closed is the furthest an attempt can get
    for (std::size_t i = 0; i + 1 < attempt.nodes.size(); ++i)
      for (const ValueId output : graph_.node(attempt.nodes[i]).outputs) {
        if (!output.valid()) continue;
        std::string reader = graph_.is_output(output) ? "the model's caller" : "";
        for (const NodeId user : graph_.users(output))
          if (std::ranges::find(attempt.nodes, user) == attempt.nodes.end()) reader = graph_.node(user).name;
        if (reader.empty()) continue;
        refuse(fmt::format("the result of {} is also read by {}", graph_.node(attempt.nodes[i]).name, reader));
        return false;
      }
    return true;
  }

  Found found(Attempt attempt) const {
    Found result{std::move(attempt.nodes), {}, std::move(attempt.values)};
    const std::set<NodeId> own(result.nodes.begin(), result.nodes.end());
    for (const NodeId id : result.nodes)
      for (const ValueId input : graph_.node(id).inputs) {
        if (!input.valid() || graph_.is_constant(input) || own.count(graph_.value(input).producer)) continue;
        if (std::ranges::find(result.inputs, input) == result.inputs.end()) result.inputs.push_back(input);
      }
    return result;
  }

  // Records the reason of the attempt that matched most nodes; of equal ones, an attempt that met a different node,
  // then the first.
  Attempts refuse(std::string why, bool at_node = false) {
    const std::size_t score = 2 * depth_ + (at_node ? 1 : 0);
    if (why_.empty() || score > furthest_) {
      why_ = std::move(why);
      furthest_ = score;
    }
    return {};
  }

  const Graph& graph_;
  std::string why_;
  std::size_t furthest_ = 0;  // score of `why_`
  std::size_t depth_ = 0;     // nodes whose operators matched, from the root on
};

}  // namespace

Result<Pattern> parse(std::string_view text) { return Parser(text).run(); }

std::string to_string(const Pattern& pattern) {
  std::string text = pattern.name.empty() ? "" : pattern.name + "=";
  switch (pattern.kind) {
    case Kind::value: return text + "_";
    case Kind::constant: return text + "#";
    case Kind::absent: return text + "-";
    case Kind::node: break;
  }
  text += pattern.operators.empty() ? "*" : fmt::format("{}", fmt::join(pattern.operators, "|"));
  if (pattern.commutative) text += "~";
  if (pattern.optional) text += "?";
  if (pattern.open && pattern.operands.empty()) return text;
  std::vector<std::string> operands;
  for (const Pattern& operand : pattern.operands) operands.push_back(to_string(operand));
  if (pattern.open) operands.emplace_back("...");
  return text + fmt::format("({})", fmt::join(operands, ", "));
}

bool may_end_in(const Pattern& pattern, std::string_view op) {
  if (pattern.kind != Kind::node) return false;
  if (pattern.operators.empty() || std::ranges::find(pattern.operators, op) != pattern.operators.end()) return true;
  return pattern.optional && may_end_in(pattern.operands[0], op);
}

Result<Found> match(const Graph& graph, NodeId root, const Pattern& pattern) {
  return Matcher(graph).run(root, pattern);
}

}  // namespace dovetail::pattern
