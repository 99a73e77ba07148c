#include "loops/print.h"

#include <cmath>
#include <set>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "base/overloaded.h"
#include "loops/free_vars.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"
#include "loops/syntax.h"

namespace dovetail::loops {
namespace {

bool is_literal(const Expr& expr) {
  return std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<FloatImm>(expr->node);
}

std::string float_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = dtype == DType::float64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// A literal without its type: the parser infers it from the other operand, or from the stored buffer.
std::string bare_literal(const Expr& expr) {
  if (const auto* n = std::get_if<FloatImm>(&expr->node)) return float_text(n->value, expr->dtype);
  const std::int64_t value = std::get<IntImm>(expr->node).value;
  if (expr->dtype == DType::boolean) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

// `expected`: the type that the context gives a bare literal.
std::string literal(const Expr& expr, DType expected) {
  if (expr->dtype == expected || expr->dtype == DType::boolean) return bare_literal(expr);
  return fmt::format("{}({})", name(expr->dtype), bare_literal(expr));
}

DType default_type(const Expr& expr) {
  return std::holds_alternative<FloatImm>(expr->node) ? DType::float32 : DType::int64;
}

// Nodes that have a name are printed as that name.
class ExprPrinter {
 public:
  void name_node(const Expr& expr, std::string name) { names_.emplace(expr.get(), std::move(name)); }

  std::string print(const Expr& expr, int context, std::optional<DType> expected = {}) const {
    if (const auto named = names_.find(expr.get()); named != names_.end()) return named->second;
    return std::visit(
        Overloaded{
            [&](const IntImm&) { return literal(expr, expected.value_or(DType::int64)); },
            [&](const FloatImm&) { return literal(expr, expected.value_or(DType::float32)); },
            [](const VarRef& n) { return printed_name(n.var->name); },
            [&](const Unary& n) { return print_unary(n, context); },
            [&](const Binary& n) { return print_binary(n, context); },
            // int8(3) is the literal 3 of type int8; a conversion of a literal is printed as cast<int8>(3).
            [&](const Cast& n) {
              return is_literal(n.a) ? fmt::format("cast<{}>({})", name(expr->dtype), print(n.a, 0))
                                     : fmt::format("{}({})", name(expr->dtype), print(n.a, 0));
            },
            [&](const Bitcast& n) { return fmt::format("bitcast<{}>({})", name(expr->dtype), print(n.a, 0)); },
            [&](const Select& n) {
              return fmt::format("select({}, {}, {})", print(n.condition, 0), print_operand(n.if_true, n.if_false, 0),
                                 print_operand(n.if_false, n.if_true, 0));
            },
            [&](const LoadExpr& n) { return print_access(n.buffer, n.indices); },
            [&](const Call& n) { return print_call(n); },
        },
        expr->node);
  }

  std::string print_list(const std::vector<Expr>& exprs) const {
    std::string text;
    for (const Expr& expr : exprs) text += (text.empty() ? "" : ", ") + print(expr, 0, DType::int64);
    return text;
  }

  std::string print_access(const Buffer& buffer, const std::vector<Expr>& indices) const {
    return fmt::format("{}[{}]", printed_name(buffer->name), print_list(indices));
  }

 private:
  // Operands that must agree in type: the type comes from an operand that is not a literal.
  std::string print_operand(const Expr& expr, const Expr& partner, int context) const {
    if (!is_literal(expr)) return print(expr, context);
    return literal(expr, is_literal(partner) ? default_type(expr) : partner->dtype);
  }

  static std::string parenthesized(std::string text, bool needed) { return needed ? "(" + text + ")" : text; }

  std::string print_unary(const Unary& n, int context) const {
    const std::string_view symbol = n.op == UnaryOp::neg           ? "-"
                                    : n.op == UnaryOp::logical_not ? "!"
                                    : n.op == UnaryOp::bit_not     ? "~"
                                                                   : "";
    // The text "-5" is a literal, so the negation of the literal 5 is printed differently.
    if (symbol.empty() || is_literal(n.a)) return fmt::format("{}({})", name(n.op), print(n.a, 0));
    return parenthesized(fmt::format("{}{}", symbol, print(n.a, kPrefixPrecedence)), context > kPrefixPrecedence);
  }

  std::string print_binary(const Binary& n, int context) const {
    const InfixOp* row = infix(n.op);
    if (row == nullptr)
      return fmt::format("{}({}, {})", name(n.op), print_operand(n.a, n.b, 0), print_operand(n.b, n.a, 0));
    return parenthesized(fmt::format("{} {} {}", print_operand(n.a, n.b, row->precedence), row->symbol,
                                     print_operand(n.b, n.a, row->precedence + 1)),
                         context > row->precedence);
  }

  std::string print_call(const Call& n) const {
    switch (n.function) {
      case Function::requantize:
        return fmt::format("{}({}, {}, {})", name(n.function), print(n.arguments[0], 0, DType::int32),
                           print(n.arguments[1], 0, DType::float32), print(n.arguments[2], 0, DType::int32));
    }
    return "";
  }

  std::unordered_map<const ExprNode*, std::string> names_;
};

std::string print(const Expr& expr, int context, std::optional<DType> expected = {}) {
  return ExprPrinter().print(expr, context, expected);
}

// Names the shared nodes of these expressions that must not be printed repeatedly, s0, s1, ...; calls define(name,
// text) for each, definitions before uses.
template <typename Define>
ExprPrinter name_shared(std::span<const Expr> expressions, const Define& define) {
  ExprPrinter printer;
  const std::vector<Expr> nodes = nodes_to_name(expressions);
  if (nodes.empty()) return printer;
  std::set<std::string_view> taken;  // names of variables, which are printed as bare names too
  for (const Expr& expr : expressions)
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node)) taken.insert(n->var->name);
    });
  int number = 0;
  for (const Expr& node : nodes) {
    std::string name;
    do name = fmt::format("s{}", number++);
    while (taken.count(name) != 0);
    define(name, printer.print(node, 0));
    printer.name_node(node, std::move(name));
  }
  return printer;
}

class StmtPrinter {
 public:
  explicit StmtPrinter(int indent) : indent_(indent) {}
  std::string text;

  void line(std::string_view content) {
    text.append(static_cast<std::size_t>(indent_) * 2, ' ');
    text += content;
    text += '\n';
  }
  void open(std::string_view header) {
    line(std::string(header) + (header.empty() ? "{" : " {"));
    ++indent_;
  }
  void close(std::string_view footer = "}") {
    --indent_;
    line(footer);
  }

  // A body in braces; the statements of a sequence are printed in them directly.
  void body(const Stmt& stmt) {
    if (!stmt) return;
    if (const auto* n = std::get_if<Sequence>(&stmt->node)) {
      for (const Stmt& inner : n->body) print(inner);
    } else {
      print(stmt);
    }
  }

  void print(const Stmt& stmt) {
    std::visit([&](const auto& n) { print(n); }, stmt->node);
  }

 private:
  static std::string annotations(const Annotations& annotations) {
    std::string result;
    for (const auto& [key, value] : annotations)
      result += fmt::format(" @{}({})", printed_name(key), loops::quoted(value));
    return result;
  }
  static std::string typed(const Var& var) {
    return var->dtype == DType::int64 ? printed_name(var->name)
                                      : fmt::format("{}: {}", printed_name(var->name), name(var->dtype));
  }

  void print(const For& n) {
    std::string kind;
    if (n.kind == ForKind::thread) kind = fmt::format(" thread({})", printed_name(n.thread_axis));
    else if (n.kind != ForKind::serial) kind = fmt::format(" {}", name(n.kind));
    open(fmt::format("for {} in {}{}{}", typed(n.var), n.extent, kind, annotations(n.annotations)));
    body(n.body);
    close();
  }
  void print(const If& n) {
    open(fmt::format("if {}", loops::print(n.condition, 0)));
    body(n.then_body);
    if (n.else_body) {
      close("} else {");
      ++indent_;
      body(n.else_body);
    }
    close();
  }
  void print(const Sequence& n) {
    open("");
    for (const Stmt& inner : n.body) print(inner);
    close();
  }
  void print(const Block& n) {
    open(fmt::format("block {}{}", printed_name(n.name), annotations(n.annotations)));
    for (const Iterator& iterator : n.iterators)
      line(fmt::format("{} {} in {} = {}", name(iterator.kind), typed(iterator.var), iterator.extent,
                       loops::print(iterator.binding, 0, iterator.var->dtype)));
    if (n.predicate) line(fmt::format("where {}", loops::print(n.predicate, 0)));
    regions("reads", n.reads);
    regions("writes", n.writes);
    if (n.init) {
      open("init");
      body(n.init);
      close();
    }
    body(n.body);
    close();
  }
  void regions(std::string_view word, const std::vector<Region>& list) {
    if (list.empty()) return;
    std::string result;
    for (const Region& region : list) {
      std::string ranges;
      for (const RangeExpr& range : region.ranges) {
        if (!ranges.empty()) ranges += ", ";
        ranges += loops::print(range.min, 0, DType::int64);
        if (range.extent != 1) ranges += fmt::format(" +: {}", range.extent);
      }
      result += fmt::format("{}{}[{}]", result.empty() ? " " : ", ", printed_name(region.buffer->name), ranges);
    }
    line(std::string(word) + result);
  }
  void print(const Store& n) {
    std::vector<Expr> expressions;
    for (const StoreTarget& target : n.targets) {
      expressions.insert(expressions.end(), target.indices.begin(), target.indices.end());
      expressions.push_back(target.value);
    }
    const ExprPrinter printer = name_shared(expressions, [&](const std::string& name, const std::string& expression) {
      line(fmt::format("let {} = {}", name, expression));
    });
    std::string places, values;
    for (const StoreTarget& target : n.targets) {
      const std::string_view separator = places.empty() ? "" : ", ";
      places += fmt::format("{}{}", separator, printer.print_access(target.buffer, target.indices));
      values += fmt::format("{}{}", separator, printer.print(target.value, 0, target.buffer->dtype));
    }
    line(places + " = " + values);
  }
  void print(const IntrinsicCall& n) {
    std::string operands;
    for (const IntrinsicOperand& operand : n.operands) {
      operands += (operands.empty() ? "" : ", ") + ExprPrinter().print_access(operand.buffer, operand.indices);
      if (operand.steps.empty()) continue;
      operands += " step";
      for (const auto& step : operand.steps) operands += fmt::format(" [{}]", fmt::join(step, ", "));
    }
    const std::string immediates =
        n.immediates.empty() ? "" : fmt::format(" with ({})", ExprPrinter().print_list(n.immediates));
    line(fmt::format("call {}({}){}", printed_name(n.intrinsic), operands, immediates));
  }

  int indent_;
};

std::string declaration(const Buffer& buffer) {
  const std::string scope = buffer->scope == "global" ? "" : fmt::format(" in {}", printed_name(buffer->scope));
  return fmt::format("{}: {}[{}]{}", printed_name(buffer->name), name(buffer->dtype), fmt::join(buffer->shape, ", "),
                     scope);
}

std::string_view role_name(ParameterRole role) {
  switch (role) {
    case ParameterRole::input: return "input";
    case ParameterRole::constant: return "constant";
    case ParameterRole::output: return "output";
  }
  return "";
}

}  // namespace

std::string to_string(const Expr& expr) {
  if (!expr) return "<null>";
  std::string definitions;
  const ExprPrinter printer =
      name_shared(std::span(&expr, 1), [&](const std::string& name, const std::string& expression) {
        definitions += fmt::format("{}{} = {}", definitions.empty() ? " where " : ", ", name, expression);
      });
  return printer.print(expr, 0) + definitions;
}

std::string to_string(const Stmt& stmt, int indent) {
  StmtPrinter printer(indent);
  printer.body(stmt);
  return std::move(printer.text);
}

std::string to_string(const Program& program) {
  StmtPrinter printer(0);
  printer.open("program " + printed_name(program.name));
  for (const Var& var : free_vars(program.body))
    printer.line(fmt::format("free {}: {}", printed_name(var->name), name(var->dtype)));
  for (const Parameter& parameter : program.parameters)
    printer.line(fmt::format("{} {}", role_name(parameter.role), declaration(parameter.buffer)));
  for (const Buffer& buffer : program.allocations) printer.line("alloc " + declaration(buffer));
  printer.body(program.body);
  printer.close();
  return std::move(printer.text);
}

}  // namespace dovetail::loops
