// The loop-program IR: every operator becomes a loop program, schedules rewrite it, and every back end lowers it.
// Immutable trees with shared ownership: a rewrite builds new nodes and shares the rest. Printed by loops/print.h,
// parsed by loops/parse.h, checked by loops/verify.h, executed by loops/interpreter.h.
//
// Rules (the verifier's): only blocks store; a block's iterators are bound to affine expressions of the loops around
// it; its reads and writes cover all accesses of its body; names of loops, blocks and buffers are unique in a program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ndarray.h"

namespace dovetail::loops {

// ---- Variables and buffers: identity is the node, names are for people and traces
// -------------------------------------------------

struct VarNode {
  std::string name;
  DType dtype = DType::int64;
};
using Var = std::shared_ptr<const VarNode>;
Var make_var(std::string name, DType dtype = DType::int64);

struct BufferNode {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;                   // constant extents, elements
  std::string scope = "global";  // a memory of the target: "global", "accel.inp", "register", ...
};
using Buffer = std::shared_ptr<const BufferNode>;
Buffer make_buffer(std::string name, DType dtype, Shape shape, std::string scope = "global");

// ---- Expressions
// -----------------------------------------------------------------------------------------------------------------

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

// Integers wrap in their type. div and mod of integers truncate (C++); floor_div and floor_mod round to minus infinity.
// Division by zero is the program's error and is diagnosed by the interpreter. Comparisons and logic yield bool.
enum class UnaryOp : std::uint8_t {
  neg,
  logical_not,
  bit_not,
  abs,
  sign,
  floor,
  ceil,
  round_even,
  trunc,
  sqrt,
  rsqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  tanh,
  erf,
  is_nan,
  is_inf
};
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  floor_div,
  floor_mod,
  min,
  max,
  pow,
  shl,
  shr,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or
};
// Functions of several operands with an exact definition.
enum class Function : std::uint8_t {
  // requantize(acc: int32, scale: float32, zero_point: int32) -> int32: clamp_int32(round_half_even(acc * scale) +
  // zero_point), product exact,
  // one rounding; the scale's bits are read as in the ISA's REQUANT (no infinities or NaN; subnormals are 0).
  requantize,
};

struct IntImm {
  std::int64_t value;
};  // also bool: 0 or 1
struct FloatImm {
  double value;
};
struct VarRef {
  Var var;
};
struct Unary {
  UnaryOp op;
  Expr a;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};
struct Cast {
  Expr a;
};  // value conversion to the node's dtype; float to integer truncates and saturates
struct Bitcast {
  Expr a;
};  // same size, same bits
struct Select {
  Expr condition, if_true, if_false;
};  // only the chosen side is evaluated
struct LoadExpr {
  Buffer buffer;
  std::vector<Expr> indices;
};
struct Call {
  Function function;
  std::vector<Expr> arguments;
};

struct ExprNode {
  DType dtype;
  std::variant<IntImm, FloatImm, VarRef, Unary, Binary, Cast, Bitcast, Select, LoadExpr, Call> node;
};

// ---- Statements
// ------------------------------------------------------------------------------------------------------------------

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;
using Annotations = std::map<std::string, std::string>;

enum class ForKind : std::uint8_t { serial, parallel, vectorized, unrolled, vthread, pipelined, thread };
struct For {
  Var var;
  std::int64_t extent;  // 0 <= var < extent
  ForKind kind = ForKind::serial;
  std::string thread_axis;  // ForKind::thread: "block.x", "thread.x", ...
  Annotations annotations;
  Stmt body;
};
struct If {
  Expr condition;
  Stmt then_body;
  Stmt else_body;  // may be null
};
struct Sequence {
  std::vector<Stmt> body;
};

enum class IterKind : std::uint8_t { spatial, reduce, ordered };
struct Iterator {
  Var var;  // used inside the block only
  std::int64_t extent;
  IterKind kind;
  Expr binding;  // affine in the enclosing loops of the block
};
struct RangeExpr {
  Expr min;
  std::int64_t extent;
};
struct Region {
  Buffer buffer;
  std::vector<RangeExpr> ranges;  // one per dimension, in the block's iterators
};
struct Block {
  std::string name;
  std::vector<Iterator> iterators;
  Expr predicate;  // null: always
  std::vector<Region> reads, writes;
  Stmt init;  // null, or run when all reduce iterators are 0, before the body
  Stmt body;
  Annotations annotations;
};

// All values and indices are evaluated before the first write (so tuple reductions are one statement).
struct StoreTarget {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;  // of the buffer's dtype
};
struct Store {
  std::vector<StoreTarget> targets;
};
// A hardware intrinsic, introduced by tensorize. Each operand names the element at which the intrinsic's own (dense)
// operand begins, with the strides given by `steps`: for each operand axis, the elements by which one step moves in
// each buffer dimension. Its meaning is a small loop program looked up by name (loops/intrinsic.h).
struct IntrinsicOperand {
  Buffer buffer;
  std::vector<Expr> indices;                     // first element
  std::vector<std::vector<std::int64_t>> steps;  // [operand axis][buffer dimension]
  std::vector<std::int64_t> extents =
      {};  // per buffer dimension: the box that the call accesses (redundant with steps; may be empty)
};
struct IntrinsicCall {
  std::string intrinsic;
  std::vector<IntrinsicOperand> operands;  // in the order of the intrinsic's parameters
  std::vector<Expr> immediates;
};

struct StmtNode {
  std::variant<For, If, Sequence, Block, Store, IntrinsicCall> node;
};

// ---- Programs
// --------------------------------------------------------------------------------------------------------------------

enum class ParameterRole : std::uint8_t { input, constant, output };
struct Parameter {
  Buffer buffer;
  ParameterRole role;
};

struct Program {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Buffer> allocations;  // intermediate buffers; undefined until written
  Stmt body;
};

// ---- Construction: types are checked, constants are not folded (loops/simplify.h does that)
// ------------------------------------------

bool accepts(UnaryOp op, DType operand);  // the operation is defined on operands of that type
bool accepts(BinaryOp op, DType operand);

Expr int_imm(std::int64_t value, DType dtype = DType::int64);
Expr float_imm(double value, DType dtype = DType::float32);
Expr bool_imm(bool value);
Expr constant(double value, DType dtype);  // integer or floating by dtype
Expr ref(Var var);
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);  // precondition: equal dtypes
Expr cast(DType dtype, Expr a);            // `a` itself when it has that type
Expr bitcast(DType dtype, Expr a);
Expr select(Expr condition, Expr if_true, Expr if_false);
Expr load(Buffer buffer, std::vector<Expr> indices);
Expr call(Function function, std::vector<Expr> arguments);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator+(Expr a, std::int64_t b);
Expr operator-(Expr a, std::int64_t b);
Expr operator*(Expr a, std::int64_t b);
Expr floor_div(Expr a, std::int64_t b);
Expr floor_mod(Expr a, std::int64_t b);
Expr logical_and(Expr a, Expr b);

Stmt make_stmt(std::variant<For, If, Sequence, Block, Store, IntrinsicCall> node);
Stmt sequence(std::vector<Stmt> body);  // flattens nested sequences; a single statement stays itself
Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value);

std::string_view name(UnaryOp op);
std::string_view name(BinaryOp op);
std::string_view name(Function function);
std::string_view name(ForKind kind);
std::string_view name(IterKind kind);

}  // namespace dovetail::loops
