// Expressions in the form that run_threads evaluates: variables and buffers are numbered, operations are functions
// selected by type, and indices are sums of products where possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/scalar_value.h"

namespace dovetail::loops {

struct Formula {
  // shift, mask: int64 divided by a power of two, rounded to minus infinity, and the remainder.
  enum class Kind : std::uint8_t {
    constant,
    variable,
    sum,
    shift,
    mask,
    unary,
    binary,
    convert,
    select,
    load,
    requantize
  } kind;
  ScalarValue value = {};    // constant; sum: the addend; mask: the bits
  std::uint32_t number = 0;  // variable: its number; sum: its first term; `count` terms are variables and `more` are
                             // not; load: number of the access; shift: amount
  std::uint32_t count = 0, more = 0;
  std::uint32_t a = 0, b = 0, c = 0;  // operands
  ScalarFunction1 function1 = nullptr;
  ScalarFunction2 function2 = nullptr;
};

// A formula of int64, or a variable, times a factor.
struct Term {
  std::size_t number = 0;
  std::uint64_t factor = 1;  // int64 wraps
};

// A location in a buffer.
struct Access {
  const BufferNode* buffer = nullptr;
  std::size_t number = 0;              // the buffer's number
  std::vector<std::uint32_t> indices;  // formulas of int64
};

class Formulas {
 public:
  std::vector<Formula> formulas;
  std::vector<Term> terms;
  std::vector<Access> accesses;
  std::vector<const BufferNode*> buffers;

  std::size_t variable(const VarNode& var) { return variables_.emplace(&var, variables_.size()).first->second; }
  std::size_t variable_count() const { return variables_.size(); }
  std::size_t buffer(const BufferNode& buffer);
  // Each expression is compiled once, and must outlive this object.
  std::uint32_t formula(const Expr& expr);
  std::uint32_t index(const Expr& expr);  // its value as int64
  std::size_t access(const BufferNode& buffer, const std::vector<Expr>& indices);

 private:
  struct Sum {
    std::vector<Term> variables, others;
    std::uint64_t constant = 0;
  };
  std::uint32_t add(Formula formula);
  std::uint32_t make(const ExprNode& expr);
  void collect(const Expr& expr, std::uint64_t factor, Sum& sum);

  std::unordered_map<const VarNode*, std::size_t> variables_;
  std::unordered_map<const BufferNode*, std::size_t> buffer_numbers_;
  std::unordered_map<const ExprNode*, std::uint32_t> known_, indices_;
};

}  // namespace dovetail::loops
