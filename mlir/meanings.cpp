#include "mlir/meanings.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "loops/integer.h"
#include "mlir/text.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

bool without_sign(DType dtype) { return info(dtype).kind == DTypeKind::unsigned_integer; }
bool has_half_size(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// `T` in a body represents the type, `W` its bits, `M` its bits less one.
std::string filled(std::string_view body, DType dtype) {
  std::string text;
  const int bits = 8 * size_bytes(dtype);
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool placeholder = body[i] == '$' && i + 1 < body.size();
    if (!placeholder) {
      text += body[i];
      continue;
    }
    switch (body[++i]) {
      case 'T': text += value_type(dtype); break;
      case 'W': text += std::to_string(bits); break;
      case 'M': text += std::to_string(bits - 1); break;
      default: text += body[i];
    }
  }
  return text;
}

std::string function_text(std::string_view name, std::string_view signature, std::string_view body) {
  return fmt::format("  func.func private {}{} {{\n{}  }}\n", symbol_reference(name), signature, body);
}

// ---- Integers

constexpr std::string_view kIntegerConstants = R"(    %zero = arith.constant 0 : $T
    %one = arith.constant 1 : $T
    %minus_one = arith.constant -1 : $T
)";
constexpr std::string_view kDivisor = R"(    %divides = arith.cmpi ne, %b, %zero : $T
    cf.assert %divides, "division by zero"
)";
// The least integer divided by -1 wraps.
constexpr std::string_view kSignedDivision = R"(    %negates = arith.cmpi eq, %b, %minus_one : $T
    %divisor = arith.select %negates, %one, %b : $T
    %plain = arith.divsi %a, %divisor : $T
    %negated = arith.subi %zero, %a : $T
    %quotient = arith.select %negates, %negated, %plain : $T
    %rest_plain = arith.remsi %a, %divisor : $T
    %rest = arith.select %negates, %zero, %rest_plain : $T
)";
constexpr std::string_view kRoundsDown = R"(    %inexact = arith.cmpi ne, %rest, %zero : $T
    %rest_negative = arith.cmpi slt, %rest, %zero : $T
    %b_negative = arith.cmpi slt, %b, %zero : $T
    %differ = arith.cmpi ne, %rest_negative, %b_negative : i1
    %down = arith.andi %inexact, %differ : i1
)";
constexpr std::string_view kShift = R"(    %zero = arith.constant 0 : $T
    %bits = arith.constant $W : $T
    %inside = arith.cmpi ult, %b, %bits : $T
)";
constexpr std::string_view kPowerLoop = R"(    %first = arith.constant 0 : index
    %bits = arith.constant $W : index
    %step = arith.constant 1 : index
    %power, %factor = scf.for %i = %first to %bits step %step iter_args(%result = %one, %square = %a) -> ($T, $T) {
      %place = arith.index_cast %i : index to $T
      %shifted = arith.shrui %b, %place : $T
      %bit = arith.andi %shifted, %one : $T
      %set = arith.cmpi ne, %bit, %zero : $T
      %product = arith.muli %result, %square : $T
      %next = arith.select %set, %product, %result : $T
      %next_square = arith.muli %square, %square : $T
      scf.yield %next, %next_square : $T, $T
    }
)";
// 0 to a negative power has no value; the others truncate to 1, -1 or 0.
constexpr std::string_view kNegativePower = R"(    %exponent_negative = arith.cmpi slt, %b, %zero : $T
    %base_zero = arith.cmpi eq, %a, %zero : $T
    %wrong = arith.andi %exponent_negative, %base_zero : i1
    %true = arith.constant true
    %valid = arith.xori %wrong, %true : i1
    cf.assert %valid, "0 to a negative power"
    %base_one = arith.cmpi eq, %a, %one : $T
    %base_minus_one = arith.cmpi eq, %a, %minus_one : $T
    %low_bit = arith.andi %b, %one : $T
    %odd = arith.cmpi ne, %low_bit, %zero : $T
    %sign = arith.select %odd, %minus_one, %one : $T
    %otherwise = arith.select %base_minus_one, %sign, %zero : $T
    %truncated = arith.select %base_one, %one, %otherwise : $T
    %value = arith.select %exponent_negative, %truncated, %power : $T
)";

std::string integer_body(BinaryOp op, DType dtype) {
  const bool unsigned_type = without_sign(dtype);
  const std::string begin(kIntegerConstants), divisor = begin + std::string(kDivisor),
                                              division = divisor + std::string(kSignedDivision);
  switch (op) {
    case BinaryOp::div:
      if (unsigned_type) return divisor + "    %value = arith.divui %a, %b : $T\n    return %value : $T\n";
      return division + "    return %quotient : $T\n";
    case BinaryOp::mod:
      if (unsigned_type) return divisor + "    %value = arith.remui %a, %b : $T\n    return %value : $T\n";
      return division + "    return %rest : $T\n";
    case BinaryOp::floor_div:
      if (unsigned_type) return integer_body(BinaryOp::div, dtype);
      return division + std::string(kRoundsDown) +
             "    %less = arith.addi %quotient, %minus_one : $T\n"
             "    %value = arith.select %down, %less, %quotient : $T\n    return %value : $T\n";
    case BinaryOp::floor_mod:
      if (unsigned_type) return integer_body(BinaryOp::mod, dtype);
      return division + std::string(kRoundsDown) +
             "    %more = arith.addi %rest, %b : $T\n"
             "    %value = arith.select %down, %more, %rest : $T\n    return %value : $T\n";
    case BinaryOp::shl:
      return std::string(kShift) +
             "    %amount = arith.select %inside, %b, %zero : $T\n    %shifted = arith.shli %a, %amount : $T\n"
             "    %value = arith.select %inside, %shifted, %zero : $T\n    return %value : $T\n";
    case BinaryOp::shr:
      if (unsigned_type)
        return std::string(kShift) +
               "    %amount = arith.select %inside, %b, %zero : $T\n    %shifted = arith.shrui %a, %amount : $T\n"
               "    %value = arith.select %inside, %shifted, %zero : $T\n    return %value : $T\n";
      return std::string(kShift) +
             "    %most = arith.constant $M : $T\n    %amount = arith.select %inside, %b, %most : $T\n"
             "    %value = arith.shrsi %a, %amount : $T\n    return %value : $T\n";
    case BinaryOp::pow:
      if (unsigned_type) return begin + std::string(kPowerLoop) + "    return %power : $T\n";
      return begin + std::string(kPowerLoop) + std::string(kNegativePower) + "    return %value : $T\n";
    default: return "";
  }
}

std::string integer_body(UnaryOp op) {
  const std::string begin(kIntegerConstants);
  if (op == UnaryOp::abs)
    return begin +
           "    %negative = arith.cmpi slt, %a, %zero : $T\n    %negated = arith.subi %zero, %a : $T\n"
           "    %value = arith.select %negative, %negated, %a : $T\n    return %value : $T\n";
  return begin +
         "    %negative = arith.cmpi slt, %a, %zero : $T\n    %other = arith.cmpi ne, %a, %zero : $T\n"
         "    %above = arith.select %other, %one, %zero : $T\n"
         "    %value = arith.select %negative, %minus_one, %above : $T\n    return %value : $T\n";
}

constexpr std::string_view kUnsignedSign = R"(    %zero = arith.constant 0 : $T
    %one = arith.constant 1 : $T
    %other = arith.cmpi ne, %a, %zero : $T
    %value = arith.select %other, %one, %zero : $T
    return %value : $T
)";

// ---- Floating: halves are computed as float32, and rounded once

std::string widened(std::string_view body, DType dtype, bool two_operands, std::string_view result) {
  if (!has_half_size(dtype)) return filled(body, dtype) + filled(fmt::format("    return {} : $T\n", result), dtype);
  const std::string type(value_type(dtype));
  std::string text = fmt::format("    %a_wide = arith.extf %a : {} to f32\n", type);
  if (two_operands) text += fmt::format("    %b_wide = arith.extf %b : {} to f32\n", type);
  std::string inner = filled(body, DType::float32);
  for (const std::string_view operand : {"%a", "%b"})
    for (std::size_t at = 0; (at = inner.find(operand, at)) != std::string::npos; at += 2) {
      const char next = at + 2 < inner.size() ? inner[at + 2] : ' ';
      if (next == ' ' || next == ',') inner.insert(at + 2, "_wide");
    }
  return text + inner +
         fmt::format("    %narrow = arith.truncf {} : f32 to {}\n    return %narrow : {}\n", result, type, type);
}

std::string floating_body(BinaryOp op, DType dtype) {
  if (op == BinaryOp::floor_div)
    return widened("    %quotient = arith.divf %a, %b : $T\n    %value = math.floor %quotient : $T\n", dtype, true,
                   "%value");
  return widened(R"(    %zero = arith.constant 0.0 : $T
    %rest = arith.remf %a, %b : $T
    %inexact = arith.cmpf une, %rest, %zero : $T
    %rest_negative = arith.cmpf olt, %rest, %zero : $T
    %b_negative = arith.cmpf olt, %b, %zero : $T
    %differ = arith.cmpi ne, %rest_negative, %b_negative : i1
    %down = arith.andi %inexact, %differ : i1
    %more = arith.addf %rest, %b : $T
    %value = arith.select %down, %more, %rest : $T
)",
                 dtype, true, "%value");
}

std::string floating_body(UnaryOp op, DType dtype) {
  if (op == UnaryOp::rsqrt)
    return widened(
        "    %one = arith.constant 1.0 : $T\n    %root = math.sqrt %a : $T\n"
        "    %value = arith.divf %one, %root : $T\n",
        dtype, false, "%value");
  if (op == UnaryOp::is_inf)
    return filled(fmt::format("    %infinity = arith.constant {} : $T\n    %magnitude = math.absf %a : $T\n"
                              "    %value = arith.cmpf oeq, %magnitude, %infinity : $T\n    return %value : i1\n",
                              float_text(std::numeric_limits<double>::infinity(), dtype)),
                  dtype);
  return filled(R"(    %zero = arith.constant 0.0 : $T
    %one = arith.constant 1.0 : $T
    %minus_one = arith.constant -1.0 : $T
    %above = arith.cmpf ogt, %a, %zero : $T
    %below = arith.cmpf olt, %a, %zero : $T
    %otherwise = arith.select %below, %minus_one, %a : $T
    %value = arith.select %above, %one, %otherwise : $T
    return %value : $T
)",
                dtype);
}

// ---- Conversions

// Truncates and saturates; NaN becomes 0.
std::string float_to_integer(DType from, DType to) {
  const DType wide = has_half_size(from) ? DType::float32 : from;
  const std::string type(value_type(wide)), result(value_type(to));
  const bool unsigned_type = without_sign(to);
  const bool longest = to == DType::uint64;
  double low = static_cast<double>(type_min(to)), high = static_cast<double>(type_max(to));
  if (longest) low = 0, high = 0x1p64;
  if (wide == DType::float32) low = static_cast<float>(low), high = static_cast<float>(high);
  std::string text = has_half_size(from) ? fmt::format("    %x = arith.extf %a : {} to f32\n", value_type(from)) : "";
  const std::string x = has_half_size(from) ? "%x" : "%a";
  text += fmt::format(
      "    %lowest = arith.constant {low} : {type}\n    %highest = arith.constant {high} : {type}\n"
      "    %zero = arith.constant 0.0 : {type}\n    %least = arith.constant {least} : {result}\n"
      "    %most = arith.constant {most} : {result}\n    %none = arith.constant 0 : {result}\n"
      "    %nan = arith.cmpf uno, {x}, {x} : {type}\n    %below = arith.cmpf ole, {x}, %lowest : {type}\n"
      "    %above = arith.cmpf oge, {x}, %highest : {type}\n    %beyond = arith.ori %below, %above : i1\n"
      "    %outside = arith.ori %nan, %beyond : i1\n    %safe = arith.select %outside, %zero, {x} : {type}\n"
      "    %inside = arith.{convert} %safe : {type} to {result}\n"
      "    %from_below = arith.select %below, %least, %inside : {result}\n"
      "    %from_above = arith.select %above, %most, %from_below : {result}\n"
      "    %value = arith.select %nan, %none, %from_above : {result}\n    return %value : {result}\n",
      fmt::arg("low", float_text(low, wide)), fmt::arg("high", float_text(high, wide)), fmt::arg("type", type),
      fmt::arg("least", longest ? 0 : type_min(to)), fmt::arg("most", longest ? -1 : type_max(to)),
      fmt::arg("result", result), fmt::arg("x", x), fmt::arg("convert", unsigned_type ? "fptoui" : "fptosi"));
  return text;
}

// Rounded once: the integer first gets 24 bits, the last one set if others were lost.
std::string integer_to_half(DType from, DType to) {
  const std::string type(value_type(from)), half(value_type(to));
  const std::string_view convert = without_sign(from) ? "uitofp" : "sitofp";
  const int bits = 8 * size_bytes(from);
  if (bits < 32)
    return fmt::format(
        "    %wide = arith.{0} %a : {1} to f32\n    %value = arith.truncf %wide : f32 to {2}\n    return %value : "
        "{2}\n",
        convert, type, half);
  std::string text = fmt::format("    %zero = arith.constant 0 : {0}\n    %one = arith.constant 1 : {0}\n", type);
  if (without_sign(from)) text += fmt::format("    %negative = arith.cmpi ult, %a, %zero : {}\n", type);
  else text += fmt::format("    %negative = arith.cmpi slt, %a, %zero : {}\n", type);
  return text +
         fmt::format(
             "    %negated = arith.subi %zero, %a : {0}\n    %magnitude = arith.select %negative, %negated, %a : {0}\n"
             "    %zeros = math.ctlz %magnitude : {0}\n    %spare = arith.constant {1} : {0}\n"
             "    %more = arith.subi %spare, %zeros : {0}\n    %lost = arith.maxsi %more, %zero : {0}\n"
             "    %kept = arith.shrui %magnitude, %lost : {0}\n    %back = arith.shli %kept, %lost : {0}\n"
             "    %inexact = arith.cmpi ne, %back, %magnitude : {0}\n"
             "    %sticky = arith.select %inexact, %one, %zero : {0}\n    %odd = arith.ori %kept, %sticky : {0}\n"
             "    %rounded = arith.shli %odd, %lost : {0}\n    %wide = arith.uitofp %rounded : {0} to f32\n"
             "    %opposite = arith.negf %wide : f32\n    %signed = arith.select %negative, %opposite, %wide : f32\n"
             "    %value = arith.truncf %signed : f32 to {2}\n    return %value : {2}\n",
             type, bits - 24, half);
}

// Rounded once: to float32 first, with the last bit set if others were lost.
std::string double_to_half(DType to) {
  return fmt::format(R"(    %nearest = arith.truncf %a : f64 to f32
    %back = arith.extf %nearest : f32 to f64
    %bits = arith.bitcast %nearest : f32 to i32
    %zero_bits = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %minus_one = arith.constant -1 : i32
    %zero = arith.constant 0.0 : f32
    %infinity = arith.constant 0x7F800000 : f32
    %magnitude = math.absf %nearest : f32
    %finite = arith.cmpf olt, %magnitude, %infinity : f32
    %inexact = arith.cmpf one, %back, %a : f64
    %last = arith.andi %bits, %one : i32
    %even = arith.cmpi eq, %last, %zero_bits : i32
    %finite_inexact = arith.andi %finite, %inexact : i1
    %moves = arith.andi %finite_inexact, %even : i1
    %positive = arith.cmpf ogt, %nearest, %zero : f32
    %negative = arith.cmpf olt, %nearest, %zero : f32
    %greater = arith.cmpf ogt, %back, %a : f64
    %less = arith.cmpf olt, %back, %a : f64
    %away_up = arith.andi %positive, %greater : i1
    %away_down = arith.andi %negative, %less : i1
    %away = arith.ori %away_up, %away_down : i1
    %step = arith.select %away, %minus_one, %one : i32
    %neighbor = arith.addi %bits, %step : i32
    %odd_bits = arith.select %moves, %neighbor, %bits : i32
    %odd = arith.bitcast %odd_bits : i32 to f32
    %value = arith.truncf %odd : f32 to {0}
    return %value : {0}
)",
                     value_type(to));
}

std::string conversion_body(DType from, DType to) {
  if (is_floating(from) && is_integer(to)) return float_to_integer(from, to);
  if (is_integer(from)) return integer_to_half(from, to);
  if (from == DType::float64) return double_to_half(to);
  return fmt::format(
      "    %wide = arith.extf %a : {0} to f32\n    %value = arith.truncf %wide : f32 to {1}\n    return %value : {1}\n",
      value_type(from), value_type(to));
}

// scale is +-m * 2^(e-150) with m < 2^24, read off its bits; the product with m has at most 55 bits.
constexpr std::string_view kRequantize = R"(    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c9 = arith.constant 9 : i64
    %c55 = arith.constant 55 : i64
    %c150 = arith.constant 150 : i64
    %implicit = arith.constant 8388608 : i64
    %fraction_mask = arith.constant 8388607 : i64
    %exponent_mask = arith.constant 255 : i64
    %exponent_place = arith.constant 23 : i64
    %sign_place = arith.constant 31 : i64
    %far = arith.constant 1152921504606846976 : i64
    %minus_far = arith.constant -1152921504606846976 : i64
    %least = arith.constant -2147483648 : i64
    %most = arith.constant 2147483647 : i64
    %word = arith.bitcast %scale : f32 to i32
    %bits = arith.extui %word : i32 to i64
    %exponent_bits = arith.shrui %bits, %exponent_place : i64
    %exponent = arith.andi %exponent_bits, %exponent_mask : i64
    %right = arith.subi %c150, %exponent : i64
    %fraction = arith.andi %bits, %fraction_mask : i64
    %normal = arith.addi %fraction, %implicit : i64
    %tiny = arith.cmpi eq, %exponent, %c0 : i64
    %m = arith.select %tiny, %c0, %normal : i64
    %sign = arith.shrui %bits, %sign_place : i64
    %negative = arith.cmpi ne, %sign, %c0 : i64
    %minus_m = arith.subi %c0, %m : i64
    %signed_m = arith.select %negative, %minus_m, %m : i64
    %wide = arith.extsi %acc : i32 to i64
    %product = arith.muli %wide, %signed_m : i64
    %shifts_right = arith.cmpi sgt, %right, %c0 : i64
    %vanishes = arith.cmpi sgt, %right, %c55 : i64
    %right_at_most = arith.minsi %right, %c55 : i64
    %by = arith.maxsi %right_at_most, %c1 : i64
    %down = arith.shrsi %product, %by : i64
    %floor = arith.shli %down, %by : i64
    %rest = arith.subi %product, %floor : i64
    %half_place = arith.subi %by, %c1 : i64
    %half = arith.shli %c1, %half_place : i64
    %above = arith.cmpi sgt, %rest, %half : i64
    %tie = arith.cmpi eq, %rest, %half : i64
    %last = arith.andi %down, %c1 : i64
    %odd = arith.cmpi ne, %last, %c0 : i64
    %tie_up = arith.andi %tie, %odd : i1
    %up = arith.ori %above, %tie_up : i1
    %up_by = arith.extui %up : i1 to i64
    %rounded = arith.addi %down, %up_by : i64
    %left = arith.subi %c0, %right : i64
    %left_at_most = arith.minsi %left, %c9 : i64
    %left_by = arith.maxsi %left_at_most, %c0 : i64
    %grown = arith.shli %product, %left_by : i64
    %beyond = arith.cmpi sge, %left, %c9 : i64
    %product_negative = arith.cmpi slt, %product, %c0 : i64
    %product_zero = arith.cmpi eq, %product, %c0 : i64
    %far_signed = arith.select %product_negative, %minus_far, %far : i64
    %large = arith.select %beyond, %far_signed, %grown : i64
    %grown_or_zero = arith.select %product_zero, %c0, %large : i64
    %scaled_right = arith.select %vanishes, %c0, %rounded : i64
    %scaled = arith.select %shifts_right, %scaled_right, %grown_or_zero : i64
    %zero_point_wide = arith.extsi %zero_point : i32 to i64
    %sum = arith.addi %scaled, %zero_point_wide : i64
    %at_least = arith.maxsi %sum, %least : i64
    %clamped = arith.minsi %at_least, %most : i64
    %value = arith.trunci %clamped : i64 to i32
    return %value : i32
)";

template <typename Op, std::size_t n>
std::optional<Op> op_named(const std::array<Op, n>& ops, std::string_view word) {
  for (const Op op : ops)
    if (name(op) == word) return op;
  return std::nullopt;
}

constexpr std::array kUnaryMeanings{UnaryOp::abs, UnaryOp::sign, UnaryOp::rsqrt, UnaryOp::is_inf};
constexpr std::array kBinaryMeanings{BinaryOp::div, BinaryOp::mod, BinaryOp::floor_div, BinaryOp::floor_mod,
                                     BinaryOp::pow, BinaryOp::shl, BinaryOp::shr};

}  // namespace

std::string Meanings::need(UnaryOp op, DType dtype) {
  const std::string symbol = fmt::format("{}{}_{}", kOwnPrefix, name(op), name(dtype));
  const std::string result(op == UnaryOp::is_inf ? "i1" : value_type(dtype));
  std::string body = is_floating(dtype)                           ? floating_body(op, dtype)
                     : op == UnaryOp::sign && without_sign(dtype) ? filled(kUnsignedSign, dtype)
                                                                  : filled(integer_body(op), dtype);
  functions_.emplace(symbol, function_text(symbol, fmt::format("(%a: {}) -> {}", value_type(dtype), result), body));
  return symbol;
}

std::string Meanings::need(BinaryOp op, DType dtype) {
  const std::string symbol = fmt::format("{}{}_{}", kOwnPrefix, name(op), name(dtype));
  functions_.emplace(
      symbol, function_text(symbol, filled("(%a: $T, %b: $T) -> $T", dtype),
                            is_floating(dtype) ? floating_body(op, dtype) : filled(integer_body(op, dtype), dtype)));
  return symbol;
}

std::string Meanings::need(Function function) {
  const std::string symbol = fmt::format("{}{}", kOwnPrefix, name(function));
  functions_.emplace(symbol, function_text(symbol, "(%acc: i32, %scale: f32, %zero_point: i32) -> i32", kRequantize));
  return symbol;
}

std::string Meanings::need_conversion(DType from, DType to) {
  const std::string symbol = fmt::format("{}convert_{}_to_{}", kOwnPrefix, name(from), name(to));
  functions_.emplace(symbol, function_text(symbol, fmt::format("(%a: {}) -> {}", value_type(from), value_type(to)),
                                           conversion_body(from, to)));
  return symbol;
}

std::string Meanings::text() const {
  std::string text;
  for (const auto& [name, definition] : functions_) text += definition;
  return text;
}

std::optional<Meaning> meaning_named(std::string_view symbol) {
  if (!symbol.starts_with(kOwnPrefix)) return std::nullopt;
  symbol.remove_prefix(kOwnPrefix.size());
  Meaning meaning;
  if (symbol == name(Function::requantize)) {
    meaning.function = Function::requantize;
    return meaning;
  }
  constexpr std::string_view kConvert = "convert_", kTo = "_to_";
  if (symbol.starts_with(kConvert)) {
    symbol.remove_prefix(kConvert.size());
    const std::size_t middle = symbol.find(kTo);
    if (middle == std::string_view::npos) return std::nullopt;
    const auto from = dtype_from_name(symbol.substr(0, middle));
    meaning.converts_to = dtype_from_name(symbol.substr(middle + kTo.size()));
    if (!from || !meaning.converts_to) return std::nullopt;
    meaning.dtype = *from;
    return meaning;
  }
  const std::size_t last = symbol.rfind('_');
  if (last == std::string_view::npos) return std::nullopt;
  const auto dtype = dtype_from_name(symbol.substr(last + 1));
  if (!dtype) return std::nullopt;
  meaning.dtype = *dtype;
  meaning.unary = op_named(kUnaryMeanings, symbol.substr(0, last));
  meaning.binary = op_named(kBinaryMeanings, symbol.substr(0, last));
  if (!meaning.unary && !meaning.binary) return std::nullopt;
  if (meaning.unary ? !accepts(*meaning.unary, *dtype) : !accepts(*meaning.binary, *dtype)) return std::nullopt;
  return meaning;
}

}  // namespace dovetail::mlir
