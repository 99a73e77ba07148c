// Expressions of loop programs as C99, with the same value bit for bit.
//
// Integers: where ranges prove that an operation does not overflow, it is C's own; elsewhere it is a function of
// dovetail_tiny.h. An index (int64 in the program) has type int32_t where its range fits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::exporting {

// Something of a kernel that can fail depending on data; its position in the list is its site, from 1 on.
struct FailureSites {
  std::vector<std::string> texts;
  int add(std::string text);
};

// What the printed text needs.
struct Needs {
  std::set<std::string> libm;   // functions of math.h by their C names: "expf"
  std::set<std::string> extra;  // definitions that net.c must contain, see floor_mod in c_expressions.cpp
  bool floats = false;          // arithmetic in floating-point types
  bool doubles = false;         // binary64
  bool failures = false;        // a variable `int* failure`
};

// C text and how tightly its outermost operator binds.
struct CText {
  enum Level : std::uint8_t { primary, unary, product, sum, shift, comparison, bits, conjunction, disjunction, choice };
  std::string text;
  Level level = primary;
  // The expression has dtype int64, but in C its type has at most 32 bits, and its value fits.
  bool narrow = false;

  std::string up_to(Level most) const { return level <= most ? text : "(" + text + ")"; }
};

class ExpressionPrinter {
 public:
  // All three outlive the printer. `bounds` has all variables of the kernel's loops.
  ExpressionPrinter(const loops::Bounds& bounds, FailureSites& sites, Needs& needs)
      : bounds_(bounds), sites_(sites), needs_(needs) {}

  void name(const loops::Var& var, std::string text) { vars_[var.get()] = std::move(text); }
  // `scalar`: a buffer of one element that is a variable.
  void name(const loops::Buffer& buffer, std::string text, bool scalar) { buffers_[buffer.get()] = {text, scalar}; }
  // The value of this node, instead of its text.
  void name(const loops::Expr& expr, std::string text) { values_[expr.get()] = std::move(text); }
  void forget(const loops::Expr& expr) { values_.erase(expr.get()); }
  bool is_named(const loops::Expr& expr) const { return values_.contains(expr.get()); }

  // A value of the expression's dtype; types of fewer than 32 bits may have type int.
  CText print(const loops::Expr& expr);
  // The element as an lvalue. Precondition: the buffer has elements.
  std::string element(const loops::Buffer& buffer, const std::vector<loops::Expr>& indices);
  // The checks of the element's indices that depend on data, as expressions.
  std::vector<std::string> checks(const loops::Buffer& buffer, const std::vector<loops::Expr>& indices);
  // The text that is assigned to an element or to a variable of the expression's value_type.
  std::string stored(const loops::Expr& expr);

 private:
  struct BufferName {
    std::string text;
    bool scalar = false;
  };

  CText print_binary(const loops::Expr& expr, const loops::Binary& n);
  CText print_integer(const loops::Expr& expr, const loops::Binary& n);
  CText print_float(const loops::Expr& expr, const loops::Binary& n);
  CText print_division(const loops::Expr& expr, const loops::Binary& n);
  CText print_unary(const loops::Expr& expr, const loops::Unary& n);
  CText print_cast(const loops::Expr& expr, const loops::Cast& n);
  CText print_bitcast(const loops::Expr& expr, const loops::Bitcast& n);
  CText print_select(const loops::Select& n);
  CText print_load(const loops::LoadExpr& n);
  CText linear_text(const loops::Expr& offset);
  loops::Expr checked_index(const loops::Buffer& buffer, std::size_t dimension, const loops::Expr& index);
  // Rounds the result of an operation in binary32 to the type.
  CText rounded(CText value, DType dtype);
  CText call(std::string function, std::vector<std::string> arguments, bool narrow = false) const;
  std::string libm(const std::string& function, DType dtype);
  bool may_fail(const loops::Expr& expr) const;

  loops::Bounds bounds_;
  FailureSites& sites_;
  Needs& needs_;
  std::map<const loops::VarNode*, std::string> vars_;
  std::map<const loops::BufferNode*, BufferName> buffers_;
  std::map<const loops::ExprNode*, std::string> values_;
  std::vector<loops::Var> checked_;  // each named by the text of a checked index
};

// The definition of a function in Needs::extra.
std::string extra_definition(const std::string& name);

}  // namespace dovetail::exporting
