// A second, direct evaluation of loop programs: walks the tree one statement and one element at a time. Slow and
// simple; the bytecode interpreter is compared with it. Errors (bounds, division by zero, reads of unwritten elements)
// are exceptions.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::loops::test {

struct TreeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class TreeEvaluator {
 public:
  static std::vector<NdArray> evaluate(const Program& program, const std::vector<NdArray>& arguments) {
    TreeEvaluator evaluator;
    std::size_t next = 0;
    for (const Parameter& parameter : program.parameters) {
      Array& array = evaluator.arrays_[parameter.buffer.get()];
      const bool given = parameter.role != ParameterRole::output;
      array.values = given ? arguments[next++] : NdArray(parameter.buffer->dtype, parameter.buffer->shape);
      array.defined.assign(static_cast<std::size_t>(array.values.count()), given);
    }
    for (const Buffer& buffer : program.allocations) {
      Array& array = evaluator.arrays_[buffer.get()];
      array.values = NdArray(buffer->dtype, buffer->shape);
      array.defined.assign(static_cast<std::size_t>(array.values.count()), false);
    }
    evaluator.run(program.body);
    std::vector<NdArray> outputs;
    for (const Parameter& parameter : program.parameters) {
      if (parameter.role != ParameterRole::output) continue;
      const Array& array = evaluator.arrays_[parameter.buffer.get()];
      for (const bool defined : array.defined)
        if (!defined) throw TreeError("output not written");
      outputs.push_back(array.values);
    }
    return outputs;
  }

 private:
  __extension__ typedef __int128 Wide;
  struct Array {
    NdArray values;
    std::vector<bool> defined;
  };
  struct Value {
    DType dtype;
    Wide integer = 0;
    double floating = 0;
    bool truth() const { return integer != 0; }
  };

  static Value integer(DType dtype, Wide value) {
    if (dtype == DType::boolean) return {dtype, value != 0 ? 1 : 0};
    const int bits = 8 * size_bytes(dtype);
    const Wide modulus = Wide{1} << bits;
    value %= modulus;
    if (value < 0) value += modulus;
    if (is_signed_integer(dtype) && value >= modulus / 2) value -= modulus;
    return {dtype, value};
  }
  static Value floating(DType dtype, double value) {
    if (dtype == DType::float32) value = static_cast<float>(value);
    if (dtype == DType::float16) value = float16_to_float(float_to_float16(static_cast<float>(value)));
    if (dtype == DType::bfloat16) value = bfloat16_to_float(float_to_bfloat16(static_cast<float>(value)));
    return {dtype, 0, value};
  }

  void run(const Stmt& stmt) {
    if (!stmt) return;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      for (std::int64_t i = 0; i < loop->extent; ++i) vars_[loop->var.get()] = i, run(loop->body);
    } else if (const auto* branch = std::get_if<If>(&stmt->node)) {
      run(eval(branch->condition).truth() ? branch->then_body : branch->else_body);
    } else if (const auto* sequence = std::get_if<Sequence>(&stmt->node)) {
      for (const Stmt& inner : sequence->body) run(inner);
    } else if (const auto* block = std::get_if<Block>(&stmt->node)) {
      run_block(*block);
    } else if (const auto* store = std::get_if<Store>(&stmt->node)) {
      run_store(*store);
    }
  }

  void run_block(const Block& block) {
    bool first = true;
    std::vector<std::int64_t> values;
    for (const Iterator& iterator : block.iterators)
      values.push_back(static_cast<std::int64_t>(eval(iterator.binding).integer));
    for (std::size_t i = 0; i < values.size(); ++i) {
      vars_[block.iterators[i].var.get()] = values[i];
      if (block.iterators[i].kind == IterKind::reduce) first &= values[i] == 0;
    }
    if (block.predicate && !eval(block.predicate).truth()) return;
    if (block.init && first) run(block.init);
    run(block.body);
  }

  void run_store(const Store& store) {
    std::vector<std::pair<std::int64_t, Value>> writes;
    for (const StoreTarget& target : store.targets) {
      const std::int64_t place = offset(target.buffer, target.indices);
      writes.emplace_back(place, eval(target.value));
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      Array& array = arrays_.at(store.targets[i].buffer.get());
      const auto& [place, value] = writes[i];
      is_floating(value.dtype) ? array.values.set_double(place, value.floating)
                               : array.values.set_int64(place, static_cast<std::int64_t>(value.integer));
      array.defined[static_cast<std::size_t>(place)] = true;
    }
  }

  std::int64_t offset(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::int64_t result = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Wide index = eval(indices[i]).integer;
      if (index < 0 || index >= buffer->shape[i]) throw TreeError("index out of bounds");
      result = result * buffer->shape[i] + static_cast<std::int64_t>(index);
    }
    return result;
  }

  Value eval(const Expr& expr) {
    const DType dtype = expr->dtype;
    if (const auto* n = std::get_if<IntImm>(&expr->node)) return integer(dtype, n->value);
    if (const auto* n = std::get_if<FloatImm>(&expr->node)) return floating(dtype, n->value);
    if (const auto* n = std::get_if<VarRef>(&expr->node)) return integer(dtype, vars_.at(n->var.get()));
    if (const auto* n = std::get_if<Unary>(&expr->node)) return unary(n->op, eval(n->a), dtype);
    if (const auto* n = std::get_if<Binary>(&expr->node)) {
      const Value a = eval(n->a), b = eval(n->b);
      return is_floating(n->a->dtype) ? float_binary(n->op, a, b, dtype) : integer_binary(n->op, a, b, dtype);
    }
    if (const auto* n = std::get_if<Cast>(&expr->node)) return convert(eval(n->a), dtype);
    if (const auto* n = std::get_if<Select>(&expr->node))
      return eval(eval(n->condition).truth() ? n->if_true : n->if_false);
    if (const auto* n = std::get_if<LoadExpr>(&expr->node)) {
      const std::int64_t place = offset(n->buffer, n->indices);
      const Array& array = arrays_.at(n->buffer.get());
      if (!array.defined[static_cast<std::size_t>(place)]) throw TreeError("read before written");
      return is_floating(dtype) ? floating(dtype, array.values.as_double(place))
                                : integer(dtype, array.values.as_int64(place));
    }
    throw std::logic_error("expression outside the generator's repertoire");
  }

  static Value convert(const Value& a, DType to) {
    if (is_floating(to)) return floating(to, is_floating(a.dtype) ? a.floating : static_cast<double>(a.integer));
    if (!is_floating(a.dtype)) return integer(to, a.integer);
    if (to == DType::boolean) return integer(to, a.floating != 0 ? 1 : 0);
    if (std::isnan(a.floating)) return integer(to, 0);
    const int bits = 8 * size_bytes(to) - (is_signed_integer(to) ? 1 : 0);
    const Wide high = (Wide{1} << bits) - 1, low = is_signed_integer(to) ? -high - 1 : 0;
    if (a.floating >= std::ldexp(1.0, bits)) return {to, high};
    if (a.floating <= static_cast<double>(low)) return {to, low};
    return {to, static_cast<Wide>(std::trunc(a.floating))};
  }

  static Value unary(UnaryOp op, const Value& a, DType dtype) {
    if (is_floating(a.dtype)) {
      switch (op) {
        case UnaryOp::neg: return floating(dtype, -a.floating);
        case UnaryOp::abs: return floating(dtype, std::fabs(a.floating));
        case UnaryOp::floor: return floating(dtype, std::floor(a.floating));
        case UnaryOp::round_even: return floating(dtype, std::nearbyint(a.floating));
        case UnaryOp::sqrt: return floating(dtype, std::sqrt(a.floating));
        case UnaryOp::is_nan: return integer(dtype, std::isnan(a.floating) ? 1 : 0);
        default: break;
      }
    } else {
      switch (op) {
        case UnaryOp::neg: return integer(dtype, -a.integer);
        case UnaryOp::abs: return integer(dtype, a.integer < 0 ? -a.integer : a.integer);
        case UnaryOp::sign: return integer(dtype, a.integer < 0 ? -1 : a.integer > 0 ? 1 : 0);
        case UnaryOp::bit_not: return integer(dtype, -a.integer - 1);
        case UnaryOp::logical_not: return integer(dtype, a.truth() ? 0 : 1);
        default: break;
      }
    }
    throw std::logic_error("operation outside the generator's repertoire");
  }

  static Value float_binary(BinaryOp op, const Value& a, const Value& b, DType dtype) {
    const double x = a.floating, y = b.floating;
    const bool nan = std::isnan(x) || std::isnan(y);
    switch (op) {
      case BinaryOp::add: return floating(dtype, x + y);
      case BinaryOp::sub: return floating(dtype, x - y);
      case BinaryOp::mul: return floating(dtype, x * y);
      case BinaryOp::div: return floating(dtype, x / y);
      case BinaryOp::min: return nan ? floating(dtype, std::nan("")) : floating(dtype, y < x ? y : x);
      case BinaryOp::max: return nan ? floating(dtype, std::nan("")) : floating(dtype, x < y ? y : x);
      default: return comparison(op, x < y, x == y, nan);
    }
  }

  static Value comparison(BinaryOp op, bool less, bool equal, bool unordered) {
    const auto truth = [](bool value) { return Value{DType::boolean, value ? 1 : 0}; };
    switch (op) {
      case BinaryOp::eq: return truth(equal);
      case BinaryOp::ne: return truth(!equal);
      case BinaryOp::lt: return truth(less);
      case BinaryOp::le: return truth(less || equal);
      case BinaryOp::gt: return truth(!less && !equal && !unordered);
      case BinaryOp::ge: return truth(!less && !unordered);
      default: throw std::logic_error("operation outside the generator's repertoire");
    }
  }

  static Wide floor_quotient(Wide x, Wide y) {
    Wide q = x / y;
    if (q * y != x && (x < 0) != (y < 0)) --q;
    return q;
  }

  static Value integer_binary(BinaryOp op, const Value& a, const Value& b, DType dtype) {
    const Wide x = a.integer, y = b.integer;
    const int bits = 8 * size_bytes(a.dtype);
    const auto divisor = [&] {
      if (y == 0) throw TreeError("division by zero");
      return y;
    };
    switch (op) {
      case BinaryOp::add: return integer(dtype, x + y);
      case BinaryOp::sub: return integer(dtype, x - y);
      case BinaryOp::mul:
        return integer(dtype, static_cast<Wide>(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) *
                                                                          static_cast<std::uint64_t>(y))));
      case BinaryOp::div: return integer(dtype, x / divisor());
      case BinaryOp::mod: return integer(dtype, x % divisor());
      case BinaryOp::floor_div: return integer(dtype, floor_quotient(x, divisor()));
      case BinaryOp::floor_mod: return integer(dtype, x - floor_quotient(x, divisor()) * y);
      case BinaryOp::min: return integer(dtype, y < x ? y : x);
      case BinaryOp::max: return integer(dtype, x < y ? y : x);
      case BinaryOp::shl: return y < 0 || y >= bits ? integer(dtype, 0) : integer(dtype, x * (Wide{1} << y));
      case BinaryOp::shr: return y < 0 || y >= bits ? integer(dtype, x < 0 ? -1 : 0) : integer(dtype, x >> y);
      case BinaryOp::bit_and: return integer(dtype, x & y);
      case BinaryOp::bit_or: return integer(dtype, x | y);
      case BinaryOp::bit_xor: return integer(dtype, x ^ y);
      case BinaryOp::logical_and: return integer(dtype, a.truth() && b.truth() ? 1 : 0);
      case BinaryOp::logical_or: return integer(dtype, a.truth() || b.truth() ? 1 : 0);
      default: return comparison(op, x < y, x == y, false);
    }
  }

  std::map<const BufferNode*, Array> arrays_;
  std::map<const VarNode*, std::int64_t> vars_;
};

}  // namespace dovetail::loops::test
