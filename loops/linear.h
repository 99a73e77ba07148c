// Linear forms of index expressions. An int64 expression is constant + sum(coefficient * atom), where an atom is
// anything that is not itself such a sum (a variable, x // 4, a load). The form equals the expression modulo 2^64, as
// int64 arithmetic does; where its range fits int64 it equals the mathematical value.
#pragma once

#include <cstdint>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

struct LinearTerm {
  Expr atom;
  std::int64_t coefficient;  // not zero
};

struct Linear {
  std::int64_t constant = 0;
  std::vector<LinearTerm> terms;  // distinct atoms, in order of first appearance

  void add(const Expr& atom, std::int64_t coefficient);
  void add(const Linear& other, std::int64_t factor);
};

bool is_linear_op(
    const Expr& expr);  // negation, sum, difference, product: the operations that linear_form may traverse
Linear linear_form(const Expr& expr);  // precondition: dtype int64
Expr to_expr(const Linear& linear);    // positive terms first, then negative ones, then the constant

}  // namespace dovetail::loops
