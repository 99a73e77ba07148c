#include "loops/ir.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/integer.h"

namespace dovetail::loops {
namespace {

Expr make_expr(DType dtype, decltype(ExprNode::node) node) {
  return std::make_shared<const ExprNode>(ExprNode{dtype, std::move(node)});
}

// The nearest value of the type: an immediate of a narrow type has no bits that a load of the type could not have.
double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::float32: return static_cast<float>(value);
    case DType::float16: return float16_to_float(float_to_float16(static_cast<float>(value)));
    case DType::bfloat16: return bfloat16_to_float(float_to_bfloat16(static_cast<float>(value)));
    default: return value;
  }
}

void check_integer_indices(const Buffer& buffer, const std::vector<Expr>& indices) {
  DOVETAIL_CHECK(
      indices.size() == buffer->shape.size(),
      fmt::format("buffer {} of rank {} accessed with {} indices", buffer->name, buffer->shape.size(), indices.size()));
  for (const Expr& index : indices)
    DOVETAIL_CHECK(is_integer(index->dtype), fmt::format("index of {} has type {}", buffer->name, name(index->dtype)));
}

bool yields_bool(BinaryOp op) { return op >= BinaryOp::eq; }

}  // namespace

bool accepts(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::logical_not: return dtype == DType::boolean;
    case UnaryOp::bit_not: return is_integer(dtype);
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::sign: return dtype != DType::boolean;
    default: return is_floating(dtype);
  }
}

bool accepts(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::shl:
    case BinaryOp::shr: return is_integer(dtype);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor: return !is_floating(dtype);
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return dtype == DType::boolean;
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: return true;
    default: return dtype != DType::boolean;
  }
}

Var make_var(std::string name, DType dtype) { return std::make_shared<const VarNode>(VarNode{std::move(name), dtype}); }

Buffer make_buffer(std::string name, DType dtype, Shape shape, std::string scope) {
  return std::make_shared<const BufferNode>(BufferNode{std::move(name), dtype, std::move(shape), std::move(scope)});
}

Expr int_imm(std::int64_t value, DType dtype) {
  DOVETAIL_CHECK(!is_floating(dtype), fmt::format("integer immediate of type {}", name(dtype)));
  DOVETAIL_CHECK(fits(value, dtype), fmt::format("{} does not fit {}", value, name(dtype)));
  return make_expr(dtype, IntImm{value});
}

Expr float_imm(double value, DType dtype) {
  DOVETAIL_CHECK(is_floating(dtype), fmt::format("floating immediate of type {}", name(dtype)));
  return make_expr(dtype, FloatImm{round_to(value, dtype)});
}

Expr bool_imm(bool value) { return int_imm(value ? 1 : 0, DType::boolean); }

Expr constant(double value, DType dtype) {
  if (is_floating(dtype)) return float_imm(value, dtype);
  DOVETAIL_CHECK(value == std::trunc(value), fmt::format("{} is not a value of {}", value, name(dtype)));
  if (dtype == DType::uint64 && value >= 0x1p63 && value < 0x1p64)
    return int_imm(static_cast<std::int64_t>(static_cast<std::uint64_t>(value)), dtype);
  DOVETAIL_CHECK(value >= -0x1p63 && value < 0x1p63, fmt::format("{} is not a value of {}", value, name(dtype)));
  return int_imm(static_cast<std::int64_t>(value), dtype);
}

Expr ref(Var var) {
  const DType dtype = var->dtype;
  return make_expr(dtype, VarRef{std::move(var)});
}

Expr unary(UnaryOp op, Expr a) {
  DOVETAIL_CHECK(accepts(op, a->dtype), fmt::format("{} of {}", name(op), name(a->dtype)));
  const DType dtype = op == UnaryOp::is_nan || op == UnaryOp::is_inf ? DType::boolean : a->dtype;
  return make_expr(dtype, Unary{op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  DOVETAIL_CHECK(a->dtype == b->dtype, fmt::format("{} of {} and {}", name(op), name(a->dtype), name(b->dtype)));
  DOVETAIL_CHECK(accepts(op, a->dtype), fmt::format("{} of {}", name(op), name(a->dtype)));
  const DType dtype = yields_bool(op) ? DType::boolean : a->dtype;
  return make_expr(dtype, Binary{op, std::move(a), std::move(b)});
}

Expr cast(DType dtype, Expr a) { return a->dtype == dtype ? a : make_expr(dtype, Cast{std::move(a)}); }

Expr bitcast(DType dtype, Expr a) {
  DOVETAIL_CHECK(size_bytes(dtype) == size_bytes(a->dtype) && dtype != DType::boolean && a->dtype != DType::boolean,
                 fmt::format("bitcast of {} to {}", name(a->dtype), name(dtype)));
  return a->dtype == dtype ? a : make_expr(dtype, Bitcast{std::move(a)});
}

Expr select(Expr condition, Expr if_true, Expr if_false) {
  DOVETAIL_CHECK(condition->dtype == DType::boolean, fmt::format("condition of type {}", name(condition->dtype)));
  DOVETAIL_CHECK(if_true->dtype == if_false->dtype,
                 fmt::format("select of {} and {}", name(if_true->dtype), name(if_false->dtype)));
  const DType dtype = if_true->dtype;
  return make_expr(dtype, Select{std::move(condition), std::move(if_true), std::move(if_false)});
}

Expr load(Buffer buffer, std::vector<Expr> indices) {
  check_integer_indices(buffer, indices);
  const DType dtype = buffer->dtype;
  return make_expr(dtype, LoadExpr{std::move(buffer), std::move(indices)});
}

Expr call(Function function, std::vector<Expr> arguments) {
  switch (function) {
    case Function::requantize:
      DOVETAIL_CHECK(arguments.size() == 3 && arguments[0]->dtype == DType::int32 &&
                         arguments[1]->dtype == DType::float32 && arguments[2]->dtype == DType::int32,
                     "requantize needs (int32, float32, int32)");
      return make_expr(DType::int32, Call{function, std::move(arguments)});
  }
  DOVETAIL_CHECK(false, "unknown function");
  return nullptr;
}

namespace {
Expr same_type(std::int64_t value, const Expr& as) {
  return is_floating(as->dtype) ? float_imm(static_cast<double>(value), as->dtype) : int_imm(value, as->dtype);
}
}  // namespace

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
Expr operator+(Expr a, std::int64_t b) { return binary(BinaryOp::add, a, same_type(b, a)); }
Expr operator-(Expr a, std::int64_t b) { return binary(BinaryOp::sub, a, same_type(b, a)); }
Expr operator*(Expr a, std::int64_t b) { return binary(BinaryOp::mul, a, same_type(b, a)); }
Expr floor_div(Expr a, std::int64_t b) { return binary(BinaryOp::floor_div, a, same_type(b, a)); }
Expr floor_mod(Expr a, std::int64_t b) { return binary(BinaryOp::floor_mod, a, same_type(b, a)); }
Expr logical_and(Expr a, Expr b) { return binary(BinaryOp::logical_and, std::move(a), std::move(b)); }

Stmt make_stmt(std::variant<For, If, Sequence, Block, Store, IntrinsicCall> node) {
  return std::make_shared<const StmtNode>(StmtNode{std::move(node)});
}

Stmt sequence(std::vector<Stmt> body) {
  std::vector<Stmt> flat;
  for (Stmt& stmt : body) {
    if (const auto* inner = std::get_if<Sequence>(&stmt->node)) {
      flat.insert(flat.end(), inner->body.begin(), inner->body.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  return flat.size() == 1 ? flat.front() : make_stmt(Sequence{std::move(flat)});
}

Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value) {
  check_integer_indices(buffer, indices);
  DOVETAIL_CHECK(value->dtype == buffer->dtype,
                 fmt::format("{} stored to buffer {} of {}", name(value->dtype), buffer->name, name(buffer->dtype)));
  return make_stmt(Store{{StoreTarget{std::move(buffer), std::move(indices), std::move(value)}}});
}

}  // namespace dovetail::loops
