// Affine expressions of MLIR (affine_map, affine_set) and their relation to index expressions of loop programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loops/ir.h"

namespace dovetail::mlir {

enum class AffineKind : std::uint8_t { constant, operand, add, mul, mod, floor_div, ceil_div };
struct AffineNode;
using AffineExpr = std::shared_ptr<const AffineNode>;
struct AffineNode {
  AffineKind kind;
  std::int64_t value;  // the constant; the position of the operand, dimensions before symbols
  AffineExpr lhs, rhs;
};

struct AffineMap {
  std::size_t dims = 0, symbols = 0;
  std::vector<AffineExpr> results;
};
struct AffineConstraint {
  AffineExpr expr;  // >= 0, or == 0
  bool equal = false;
};
struct AffineSet {
  std::size_t dims = 0, symbols = 0;
  std::vector<AffineConstraint> constraints;
};

AffineExpr affine_constant(std::int64_t value);
AffineExpr affine_operand(std::size_t position);
AffineExpr affine_binary(AffineKind kind, AffineExpr lhs, AffineExpr rhs);

// The operands of a map or set that is being built: variables, in the order of their first use.
struct AffineOperands {
  std::vector<loops::Var> vars;
  std::size_t position(const loops::Var& var);
};

// Whether the variable is a valid operand of an affine operation.
using IsAffineVar = std::function<bool(const loops::Var&)>;

// nullopt: not an int64 expression of sums, products with constants, and quotients and remainders by positive
// constants over such variables; or a large one.
std::optional<AffineExpr> to_affine(const loops::Expr& expr, AffineOperands& operands, const IsAffineVar& is_var);
// A conjunction of comparisons as constraints; nullopt likewise.
std::optional<std::vector<AffineConstraint>> to_constraints(const loops::Expr& condition, AffineOperands& operands,
                                                            const IsAffineVar& is_var);

// The text with these names of the operands. Sums and products are written without needless parentheses.
std::string to_text(const AffineExpr& expr, std::span<const std::string> operands);

// The expression in terms of the operands' expressions, all of type int64.
loops::Expr to_loops(const AffineExpr& expr, std::span<const loops::Expr> operands);
loops::Expr to_loops(const AffineSet& set, std::span<const loops::Expr> operands);

// True if to_loops(to_affine(expr)) has the form of `expr`, also after another tool has read and printed the text.
bool keeps_form(const loops::Expr& expr);
// True only if both expressions are proven to have the same value; all of type int64, or all of type bool.
bool same_value(const loops::Expr& a, const loops::Expr& b);

}  // namespace dovetail::mlir
