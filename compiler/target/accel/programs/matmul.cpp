#include "compiler/target/accel/programs/matmul.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/target/accel/programs/stages.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Definition;
using tensor::Indices;

namespace {

Expr from(std::int64_t first, std::int64_t step, const Expr& group, const Expr& e) {
  const Expr at = step == 0 ? e : group * step + e;
  return first == 0 ? at : at + first;
}

// The number of int8 parts of which the sum is the number.
std::int64_t halves(std::int32_t zero_point) { return -zero_point > INT8_MAX ? 2 : 1; }

Shape wgt_shape(const TensorLayout& matrix) { return {matrix.padded_w() * matrix.batch, matrix.padded_c()}; }

Expr product(const Expr& a, const Expr& b) { return cast(DType::int32, a) * cast(DType::int32, b); }

}  // namespace

std::int32_t MatMulSpec::bias() const { return static_cast<std::int32_t>(depth * a_zero_point * b_zero_point); }

std::string needed_of_blocks(const Core& config) {
  if (config.block_in < kLeastBlock)
    return fmt::format("a block_in of at least {}, and it is {}", kLeastBlock, config.block_in);
  if (config.block_out % config.batch != 0)
    return fmt::format("blocks that are a multiple of the batch, and they are {} with batch {}", config.block_out,
                       config.batch);
  return {};
}

NdArray zero_point_operand(std::int64_t elements, std::int64_t depth, std::int32_t zero_point, const Core& config) {
  const std::int64_t parts = halves(zero_point), padded = round_up(depth, make_layout(config, 1, 1, 1, 1).block);
  NdArray operand(DType::int8, {elements, padded, parts});
  for (std::int64_t e = 0; e < elements; ++e)
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t part = 0; part < parts; ++part)
        operand.set_int64((e * padded + k) * parts + part,
                          part == 0 ? -zero_point / parts : -zero_point - -zero_point / parts);
  return operand;
}

Program matmul_program(const MatMulSpec& spec, const Core& config) {
  Definition d(spec.name);
  const std::int64_t depth = round_up(spec.depth, spec.a.block),
                     pixels = round_up(spec.rows, spec.y.batch) / spec.y.batch;
  const Axes axes{{"n", spec.y.batch}, {"o", round_up(spec.channels, spec.y.block)}, {"y", spec.groups}, {"x", pixels}};
  const auto pixel = [&](const TensorLayout& matrix, const GroupPlaces& at, const Expr& group, const Expr& x) {
    return from(at.first_row / matrix.batch + matrix.border.left, at.rows / matrix.batch, group, x);
  };
  const auto channel = [](const GroupPlaces& at, const Expr& group, const Expr& c) {
    return from(at.first_channel, at.channels, group, c);
  };
  const Buffer x = d.input("X", DType::int8, spec.a.program_shape());
  const Buffer w = d.input("W", DType::int8, wgt_shape(spec.b));
  const Buffer a = d.compute("x.copy", DType::int8, {axes[0], {"c", depth}, axes[2], axes[3]}, [&](const Indices& i) {
    return load(
        x, {i[0], channel(spec.a_at, i[2], i[1]), int_imm(spec.a.border.top), pixel(spec.a, spec.a_at, i[2], i[3])});
  });
  const Buffer b = d.compute("w.copy", DType::int8, {axes[1], {"c", depth}, axes[2]}, [&](const Indices& i) {
    return load(w, {from(spec.b_at.first_row, spec.b_at.rows, i[2], i[0]), channel(spec.b_at, i[2], i[1])});
  });
  Buffer columns, rows;
  if (spec.a_zero_point != 0) {
    const std::int64_t parts = halves(spec.a_zero_point);
    const Buffer z = d.constant("IZ", DType::int8, {config.batch, depth, parts});
    columns = d.reduce("columns.sums", DType::int32, {axes[0], axes[1], axes[2], {"x", 1}},
                       {{"c", depth}, {"part", parts}}, tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
                         return product(load(z, {i[0], r[0], r[1]}), load(b, {i[1], r[0], i[2]}));
                       });
  }
  if (spec.b_zero_point != 0) {
    const std::int64_t parts = halves(spec.b_zero_point);
    const Buffer z = d.constant("IJ", DType::int8, {config.block_out, depth, parts});
    rows = d.reduce("rows.sums", DType::int32, {axes[0], {"o", config.block_out}, axes[2], axes[3]},
                    {{"c", depth}, {"part", parts}}, tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
                      return product(load(a, {i[0], r[0], i[2], i[3]}), load(z, {i[1], r[0], r[1]}));
                    });
  }
  Buffer acc = d.reduce("product", DType::int32, axes, {{"c", depth}}, tensor::sum_reducer(),
                        [&](const Indices& i, const Indices& r) {
                          return product(load(a, {i[0], r[0], i[2], i[3]}), load(b, {i[1], r[0], i[2]}));
                        });
  const Buffer k = d.constant("K", DType::int32, {config.batch, config.block_out, spec.epilogue.words()});
  const Buffer constants = on_chip(d, "constants", k);
  Stages stages(d, axes, "");
  if (columns)
    acc = stages.stage("with_columns", [&](const Indices& i) {
      return load(acc, i) + load(columns, {i[0], i[1], i[2], int_imm(0)});
    });
  if (rows)
    acc = stages.stage("with_rows", [&](const Indices& i) {
      return load(acc, i) + load(rows, {i[0], floor_mod(i[1], config.block_out), i[2], i[3]});
    });
  return finish(d, stages.epilogue(spec.epilogue, acc, constants), spec.y.program_shape(), spec.epilogue.saturate,
                [&](const Indices& i) {
                  return Indices{i[0], channel(spec.y_at, i[2], i[1]), int_imm(spec.y.border.top),
                                 pixel(spec.y, spec.y_at, i[2], i[3])};
                });
}

bool needs_arranging(const Core& config) { return config.block_in < config.block_out; }

TensorLayout arranged_matrix(const TensorLayout& x, const ArrangedMatrix& arranged) {
  TensorLayout matrix = x;
  matrix.c = arranged.channels;
  return matrix;
}

std::vector<Program> arrange_programs(const std::string& name, const TensorLayout& x, const ArrangedMatrix& arranged,
                                      const Core& config) {
  const std::int64_t block = x.block, rows = x.padded_w(), parts = block / config.block_in;
  std::vector<Program> programs;
  for (std::int64_t part = 0; part < parts; ++part) {
    Definition d(name + ".arranged");
    const Axes axes{{"n", 1}, {"o", block}, {"y", arranged.channels / block}, {"x", rows / parts}};
    const Buffer matrix = d.input("X", DType::int8, x.program_shape());
    const Buffer selection = d.constant("IR", DType::int8, {block, config.block_in, parts});
    const Buffer copy = d.compute(
        "x.copy", DType::int8, {axes[0], {"c", config.block_in}, axes[2], {"x", rows}}, [&](const Indices& i) {
          return load(matrix, {i[0], from(arranged.first_channel + part * config.block_in, block, i[2], i[1]),
                               int_imm(x.border.top), i[3]});
        });
    const Buffer acc = d.reduce(
        "product", DType::int32, axes, {{"c", config.block_in}, {"part", parts}}, tensor::sum_reducer(),
        [&](const Indices& i, const Indices& r) {
          return product(load(copy, {i[0], r[0], i[2], i[3] * parts + r[1]}), load(selection, {i[1], r[0], r[1]}));
        });
    programs.push_back(finish(d, acc, {1, arranged.channels * parts, 1, rows / parts}, false, [&](const Indices& i) {
      return Indices{i[0], from(part * block, parts * block, i[2], i[1]), int_imm(0), i[3]};
    }));
  }
  return programs;
}

NdArray arranging_selection(const Core& config) {
  const std::int64_t lanes = config.block_in, parts = config.block_out / lanes;
  NdArray selection(DType::int8, {config.block_out, lanes, parts});
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      selection.set_int64(((part * lanes + lane) * lanes + lane) * parts + part, 1);
  return selection;
}

Program transpose_program(const TransposeSpec& spec, const Core& config) {
  Definition d(spec.name);
  const std::int64_t block = config.block_in,
                     pixels = std::min(block, spec.channels) / spec.y.batch;  // of a block of x's channels
  const Axes axes{{"n", spec.y.batch},
                  {"o", round_up(spec.rows, spec.y.block)},
                  {"y", round_up(spec.channels, block) / block},
                  {"x", pixels}};
  const Buffer w = d.input("W", DType::int8, wgt_shape(spec.x));
  const Buffer identity = d.constant("IX", DType::int8, {spec.y.batch, block, pixels});
  const Buffer x = d.compute("w.copy", DType::int8, {axes[1], {"c", block}, axes[2]}, [&](const Indices& i) {
    return load(w, {from(spec.first_row, 0, i[2], i[0]), from(spec.first_channel, block, i[2], i[1])});
  });
  const Buffer acc = d.reduce("product", DType::int32, axes, {{"c", block}}, tensor::sum_reducer(),
                              [&](const Indices& i, const Indices& r) {
                                return product(load(identity, {i[0], r[0], i[3]}), load(x, {i[1], r[0], i[2]}));
                              });
  return finish(d, acc, spec.y.program_shape(), false, [&](const Indices& i) {
    return Indices{i[0], i[1], int_imm(0), from(spec.first_result_row / spec.y.batch, pixels, i[2], i[3])};
  });
}

NdArray transposing_identity(const Core& config) {
  const std::int64_t block = config.block_in, pixels = block / config.batch;
  NdArray identity(DType::int8, {config.batch, block, pixels});
  for (std::int64_t r = 0; r < block; ++r)
    identity.set_int64((r % config.batch * block + r) * pixels + r / config.batch, 1);
  return identity;
}

}  // namespace dovetail::accel
