// The printed names of operations; the parser looks them up in the same tables.
#include <array>

#include "base/check.h"
#include "loops/ir.h"

namespace dovetail::loops {
namespace {

constexpr std::array<std::string_view, 28> kUnaryNames{
    "neg",   "logical_not", "bit_not", "abs",   "sign", "floor", "ceil",   "round_even", "trunc", "sqrt",
    "rsqrt", "exp",         "log",     "sin",   "cos",  "tan",   "asin",   "acos",       "atan",  "sinh",
    "cosh",  "asinh",       "acosh",   "atanh", "tanh", "erf",   "is_nan", "is_inf"};
static_assert(kUnaryNames.size() == static_cast<std::size_t>(UnaryOp::is_inf) + 1);

constexpr std::array<std::string_view, 23> kBinaryNames{
    "add", "sub", "mul", "div", "mod",     "floor_div",   "floor_mod", "min",
    "max", "pow", "shl", "shr", "bit_and", "bit_or",      "bit_xor",   "eq",
    "ne",  "lt",  "le",  "gt",  "ge",      "logical_and", "logical_or"};
static_assert(kBinaryNames.size() == static_cast<std::size_t>(BinaryOp::logical_or) + 1);

constexpr std::array<std::string_view, 1> kFunctionNames{"requantize"};
constexpr std::array<std::string_view, 7> kForKindNames{"serial",  "parallel",  "vectorized", "unrolled",
                                                        "vthread", "pipelined", "thread"};
constexpr std::array<std::string_view, 3> kIterKindNames{"spatial", "reduce", "ordered"};

}  // namespace

std::string_view name(UnaryOp op) { return kUnaryNames[static_cast<std::size_t>(op)]; }
std::string_view name(BinaryOp op) { return kBinaryNames[static_cast<std::size_t>(op)]; }
std::string_view name(Function function) { return kFunctionNames[static_cast<std::size_t>(function)]; }
std::string_view name(ForKind kind) { return kForKindNames[static_cast<std::size_t>(kind)]; }
std::string_view name(IterKind kind) { return kIterKindNames[static_cast<std::size_t>(kind)]; }

}  // namespace dovetail::loops
