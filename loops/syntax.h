// The symbols and words of the text form, in one place for printer and parser.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "loops/ir.h"

namespace dovetail::loops {

struct InfixOp {
  BinaryOp op;
  std::string_view symbol;
  int precedence;  // larger binds tighter; all associate to the left
};

// Operations without a symbol are written as functions: min(a, b).
// clang-format off
inline constexpr std::array<InfixOp, 19> kInfixOps{{
    {BinaryOp::logical_or, "||", 1},
    {BinaryOp::logical_and, "&&", 2},
    {BinaryOp::eq, "==", 3},
    {BinaryOp::ne, "!=", 3},
    {BinaryOp::lt, "<", 3},
    {BinaryOp::le, "<=", 3},
    {BinaryOp::gt, ">", 3},
    {BinaryOp::ge, ">=", 3},
    {BinaryOp::bit_or, "|", 4},
    {BinaryOp::bit_xor, "^", 5},
    {BinaryOp::bit_and, "&", 6},
    {BinaryOp::shl, "<<", 7},
    {BinaryOp::shr, ">>", 7},
    {BinaryOp::add, "+", 8},
    {BinaryOp::sub, "-", 8},
    {BinaryOp::mul, "*", 9},
    {BinaryOp::div, "/", 9},
    {BinaryOp::floor_div, "//", 9},
    {BinaryOp::floor_mod, "%", 9},
}};
// clang-format on
inline constexpr int kPrefixPrecedence = 10;  // -a, !a, ~a

constexpr const InfixOp* infix(BinaryOp op) {
  for (const InfixOp& row : kInfixOps)
    if (row.op == op) return &row;
  return nullptr;
}

// Words that cannot be bare names. Statement words can: the next token distinguishes a statement from a name.
inline constexpr std::array<std::string_view, 6> kReservedWords{"true", "false", "inf", "nan", "cast", "bitcast"};

bool is_bare_name(std::string_view text);   // letter or _, then letters, digits, _ and .; not a reserved word
std::string quoted(std::string_view text);  // "..." with \" \\ \n \t \xHH
std::string printed_name(std::string_view text);

}  // namespace dovetail::loops
