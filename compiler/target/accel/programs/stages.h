// Chains of in-place ALU stages: the building blocks of the accelerator's programs. A stage is one block over the pixel
// axes and becomes one ALU (or reset) instruction per tile; hardware works in place, so a stage that must not destroy
// its operand works on a copy (reset and add).
#pragma once

#include <functional>
#include <string>

#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::accel {

// Axes of `rows` rows and `columns` columns, with the channels and images of y.
inline tensor::Axes pixel_axes(const TensorLayout& y, std::int64_t rows, std::int64_t columns) {
  return {{"n", y.padded_n()}, {"o", y.padded_c()}, {"y", rows}, {"x", columns}};
}
inline tensor::Axes pixel_axes(const TensorLayout& y) { return pixel_axes(y, y.h, y.w); }

class Stages {
 public:
  Stages(tensor::Definition& definition, tensor::Axes axes, std::string prefix)
      : definition_(definition), axes_(std::move(axes)), prefix_(std::move(prefix)) {}

  loops::Buffer stage(const std::string& step, const std::function<loops::Expr(const tensor::Indices&)>& body);
  // Word `word` of the constants `k` at the channel of `i`; constants of one channel block serve all blocks.
  loops::Expr constant(const loops::Buffer& k, const tensor::Indices& i, std::int64_t word) const;

  loops::Buffer copy(const std::string& step, const loops::Buffer& a);
  loops::Buffer combine(const std::string& step, loops::BinaryOp op, const loops::Buffer& a, const loops::Buffer& b);
  loops::Buffer with_constant(const std::string& step, loops::BinaryOp op, const loops::Buffer& a,
                              const loops::Buffer& k, std::int64_t word);
  loops::Buffer with_immediate(const std::string& step, loops::BinaryOp op, const loops::Buffer& a, std::int64_t imm);
  loops::Buffer shift_right(const std::string& step, const loops::Buffer& a, const loops::Buffer& k, std::int64_t word);
  loops::Buffer shift_right(const std::string& step, const loops::Buffer& a, std::int64_t amount);  // negative: left
  // Scale and bias are words `word` and `word` + 1.
  loops::Buffer requant(const std::string& step, const loops::Buffer& a, const loops::Buffer& k,
                        std::int32_t zero_point, std::int64_t word = 0);

  // The entries of a table on chip (on_chip_table), at the elements plus `offset`.
  loops::Buffer look_up(const std::string& step, const loops::Buffer& a, const loops::Buffer& table,
                        std::int64_t offset = 0);

  // The epilogue that ends the products of `acc`, with the parameters on chip (on_chip_parameters) and, unless it is
  // null, the table.
  loops::Buffer requantized_products(const loops::Buffer& acc, const loops::Buffer& parameters,
                                     const loops::Buffer& table);
  // acc -> the int32 value that the store narrows.
  loops::Buffer epilogue(const Epilogue& epilogue, loops::Buffer acc, const loops::Buffer& k);
  // Clamps to the range, of which STORE does its part with `saturate`.
  loops::Buffer clamped(loops::Buffer a, const OutputRange& range, bool saturate);
  // a * multiplier, rounded half to even; `k`: operand_constants without `requant`.
  loops::Buffer multiplied(const SplitMultiplier& multiplier, loops::Buffer a, const loops::Buffer& k);

 private:
  loops::Buffer fixed_point(const FixedPoint& plan, loops::Buffer acc, const loops::Buffer& k);

  tensor::Definition& definition_;
  tensor::Axes axes_;
  std::string prefix_;
};

// The maximum of int32 numbers that were int8. It starts at -128, which fits the ALU's immediate.
const tensor::Reducer& max_of_int8();

// The copy of the constants on chip, by a block with the name of its buffer.
loops::Buffer on_chip(tensor::Definition& definition, const std::string& name, const loops::Buffer& constants);

// The copy of the parameters P (epilogue_parameters) on chip, by the block "parameters".
loops::Buffer on_chip_parameters(tensor::Definition& definition, std::int64_t channels, const Core& config);

// The copy of the table T, of int16 (table_constants) or uint16, on chip, by the block "table".
loops::Buffer on_chip_table(tensor::Definition& definition, DType entry = DType::int16);

// Adds the last block, which narrows `a` to int8 into Y, a parameter of shape `y`, at `place` of an element's indices.
// `saturate`: the cast clamps, like STORE with the extension.
loops::Program finish(tensor::Definition& definition, const loops::Buffer& a, const Shape& y, bool saturate,
                      const std::function<tensor::Indices(const tensor::Indices&)>& place);

}  // namespace dovetail::accel
