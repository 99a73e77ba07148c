// Every operation and conversion of loop programs, on the values at which arithmetic fails first.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/ir.h"
#include "tests/exported_program.h"
#include "tests/generator_graphs/evil_values.h"

namespace dovetail::test {

using namespace loops;

// exact: without the functions of floats that implementations round differently.
enum class Functions : std::uint8_t { all, exact };

// All evil values of the type, as far as it has them.
inline NdArray evil_values(DType dtype) {
  const auto count =
      static_cast<std::int64_t>(is_floating(dtype) ? std::size(test::kEvilReals) : std::size(test::kEvilIntegers));
  NdArray values(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_floating(dtype)) values.set_double(i, test::kEvilReals[at]);
    else values.set_int64(i, dtype == DType::boolean ? i % 2 : test::kEvilIntegers[at]);
  }
  return values;
}

// All pairs of values.
inline std::pair<NdArray, NdArray> pairs(const NdArray& values) {
  const std::int64_t n = values.count();
  NdArray a(values.dtype(), {n * n}), b(values.dtype(), {n * n});
  for (std::int64_t i = 0; i < n * n; ++i) {
    const auto bytes = static_cast<std::size_t>(size_bytes(values.dtype()));
    const auto copy = [&](NdArray& to, std::int64_t from) {
      std::ranges::copy(values.bytes().subspan(static_cast<std::size_t>(from) * bytes, bytes),
                        to.bytes().begin() + i * static_cast<std::int64_t>(bytes));
    };
    copy(a, i / n), copy(b, i % n);
  }
  return {a, b};
}

// y[i] = value(x0[i], x1[i], ...)
inline Program elementwise(const std::vector<NdArray>& arguments,
                           const std::function<Expr(const std::vector<Expr>&)>& value) {
  Program program;
  program.name = "operation";
  const std::int64_t count = arguments.front().count();
  const Var loop = make_var("l"), i = make_var("i");
  std::vector<Expr> loaded;
  Block block;
  block.name = "operation";
  block.iterators = {{i, count, IterKind::spatial, ref(loop)}};
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const Buffer buffer = make_buffer(fmt::format("x{}", k), arguments[k].dtype(), {count});
    program.parameters.push_back({buffer, ParameterRole::input});
    block.reads.push_back({buffer, {{ref(i), 1}}});
    loaded.push_back(load(buffer, {ref(i)}));
  }
  const Expr result = value(loaded);
  const Buffer out = make_buffer("y", result->dtype, {count});
  program.parameters.push_back({out, ParameterRole::output});
  block.writes.push_back({out, {{ref(i), 1}}});
  block.body = store(out, {ref(i)}, result);
  program.body = make_stmt(For{loop, count, ForKind::serial, "", {}, make_stmt(std::move(block))});
  return program;
}

inline bool divides(BinaryOp op) {
  switch (op) {
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod:
    case BinaryOp::pow: return true;
    default: return false;
  }
}

// The pairs for which an integer division or power has a result.
inline std::vector<NdArray> defined_pairs(BinaryOp op, DType dtype) {
  const auto [a, b] = pairs(evil_values(dtype));
  if (!divides(op) || is_floating(dtype)) return {a, b};
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < a.count(); ++i)
    if (op == BinaryOp::pow ? (a.as_int64(i) != 0 || b.as_int64(i) >= 0) : b.as_int64(i) != 0) kept.push_back(i);
  NdArray x(dtype, {static_cast<std::int64_t>(kept.size())}), y = x;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    x.set_int64(static_cast<std::int64_t>(i), a.as_int64(kept[i]));
    y.set_int64(static_cast<std::int64_t>(i), b.as_int64(kept[i]));
  }
  return {x, y};
}

// The operations of one translation unit.
class Operations {
 public:
  explicit Operations(Functions functions = Functions::all) : is_exact_(functions == Functions::exact) {}

  void add(const std::string& name, const std::vector<NdArray>& arguments,
           const std::function<Expr(const std::vector<Expr>&)>& value) {
    const Program program = elementwise(arguments, value);
    const std::string prefix = fmt::format("{}_{}_", name, all_.steps.size());
    for (std::size_t k = 0; k < arguments.size(); ++k)
      inputs_.insert_or_assign(fmt::format("{}x{}", prefix, k), arguments[k]);
    test::add_program(all_, test::bundle_of(program, "op"), prefix);
  }
  std::string run(const std::string& compiler, const std::vector<std::string>& flags) {
    all_.name = "operations";
    return test::run_exported(all_, compiler, flags, inputs_);
  }
  std::string run_objects(const Toolchain& tools) {
    all_.name = "operations";
    return test::run_objects(all_, tools, inputs_);
  }
  std::size_t count() const { return all_.steps.size(); }

  void add_all(DType dtype) {
    const std::string type(name(dtype));
    const NdArray values = evil_values(dtype);
    for (int op = 0; op <= static_cast<int>(UnaryOp::is_inf); ++op) {
      const auto unary_op = static_cast<UnaryOp>(op);
      if (!accepts(unary_op, dtype) || !keeps(unary_op, dtype)) continue;
      add(type + "_" + std::string(name(unary_op)), {values}, [&](const auto& x) { return unary(unary_op, x[0]); });
    }
    for (int op = 0; op <= static_cast<int>(BinaryOp::logical_or); ++op) {
      const auto binary_op = static_cast<BinaryOp>(op);
      if (!accepts(binary_op, dtype) || (is_exact_ && binary_op == BinaryOp::pow && is_floating(dtype))) continue;
      add(type + "_" + std::string(name(binary_op)), defined_pairs(binary_op, dtype),
          [&](const auto& x) { return binary(binary_op, x[0], x[1]); });
      // With literals, which C computes with, and which ranges are proven from.
      if (!is_floating(dtype) && dtype != DType::boolean)
        for (const std::int64_t literal : {std::int64_t{-3}, std::int64_t{7}, std::int64_t{31}}) {
          if (literal < 0 && (!is_signed_integer(dtype) || binary_op == BinaryOp::pow)) continue;
          add(type + "_" + std::string(name(binary_op)) + "_literal", {values},
              [&](const auto& x) { return binary(binary_op, x[0], int_imm(literal, dtype)); });
        }
    }
    for (const DTypeInfo& to : kDTypes) {
      if (to.dtype != dtype)
        add(type + "_to_" + std::string(to.name), {values}, [&](const auto& x) { return cast(to.dtype, x[0]); });
      if (to.dtype != dtype && to.bytes == size_bytes(dtype) && to.dtype != DType::boolean && dtype != DType::boolean)
        add(type + "_bits_" + std::string(to.name), {values}, [&](const auto& x) { return bitcast(to.dtype, x[0]); });
    }
    if (dtype != DType::boolean)
      add(type + "_select", defined_pairs(BinaryOp::add, dtype), [&](const auto& x) {
        return select(binary(BinaryOp::lt, x[0], x[1]), x[0], binary(BinaryOp::add, x[0], x[1]));
      });
  }

  // Scales of all exponents.
  void add_requantize() {
    std::vector<std::int32_t> sums;
    for (const std::int64_t value : {0, 1, -1, 2, 3, 5, -5, 127, 12345, -98765, 16777217, 2147483647, -2147483647 - 1})
      sums.push_back(static_cast<std::int32_t>(value));
    std::vector<float> scales;
    for (std::uint32_t exponent = 0; exponent<256; exponent += exponent> 90 && exponent < 170 ? 1 : 13)
      for (const std::uint32_t fraction : {0u, 1u, 0x400000u, 0x7fffffu})
        for (const std::uint32_t sign : {0u, 1u})
          scales.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | fraction));
    const auto count = static_cast<std::int64_t>(sums.size() * scales.size());
    NdArray a(DType::int32, {count}), s(DType::float32, {count}), z(DType::int32, {count});
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      a.data<std::int32_t>()[i] = sums[i % sums.size()];
      s.data<float>()[i] = scales[i / sums.size()];
      z.data<std::int32_t>()[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? -128 : 2147483647;
    }
    // A scale that is a NaN would pass as any NaN: its bits are an integer input.
    NdArray bits(DType::int32, {count});
    std::ranges::copy(s.bytes(), bits.bytes().begin());
    add("requantize", {a, bits, z}, [](const auto& x) {
      return call(Function::requantize, {x[0], bitcast(DType::float32, x[1]), x[2]});
    });
  }

 private:
  bool keeps(UnaryOp op, DType dtype) const {
    if (!is_exact_ || !is_floating(dtype)) return true;
    return op <= UnaryOp::sqrt || op == UnaryOp::is_nan || op == UnaryOp::is_inf;
  }

  bool is_exact_;
  bundle::Bundle all_;
  std::map<std::string, NdArray> inputs_;
};

}  // namespace dovetail::test
