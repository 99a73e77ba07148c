// Random chains of tensor expressions on integers, or on floats with small integer values: the typical programs of
// schedules, small enough to be evaluated after every step.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/tensor/expr.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::schedule::test {

struct Chain {
  loops::Program program;
  std::vector<NdArray> arguments;
};

class ChainGenerator {
 public:
  ChainGenerator(std::uint64_t seed, DType dtype) : random_(seed), dtype_(dtype), definition_("chain") {}

  Chain generate() {
    const int inputs = 1 + pick(2);
    for (int i = 0; i < inputs; ++i) input({1 + pick(5), 2 + pick(7)});
    const int stages = 1 + pick(4);
    std::vector<loops::Buffer> outputs;
    for (int i = 0; i < stages; ++i) {
      const loops::Buffer made = stage("s" + std::to_string(i));
      tensors_.push_back(made);
      if (i + 1 == stages || chance(15)) outputs.push_back(made);
    }
    Chain chain{definition_.build(outputs), std::move(arguments_)};
    return chain;
  }

 private:
  using Indices = tensor::Indices;

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  const loops::Buffer& any() {
    return chance(70) ? tensors_.back() : tensors_[static_cast<std::size_t>(pick(static_cast<int>(tensors_.size())))];
  }

  loops::Buffer input(Shape shape) {
    const std::string name = "x" + std::to_string(arguments_.size());
    NdArray values(dtype_, shape);
    for (std::int64_t i = 0; i < values.count(); ++i)
      is_floating(dtype_) ? values.set_double(i, pick(3) - 1) : values.set_int64(i, pick(41) - 20);
    arguments_.push_back(std::move(values));
    tensors_.push_back(definition_.input(name, dtype_, std::move(shape)));
    return tensors_.back();
  }

  static loops::Expr at(const loops::Buffer& buffer, const Indices& i) { return loops::load(buffer, i); }
  loops::Expr number(std::int64_t value) const { return loops::constant(static_cast<double>(value), dtype_); }

  loops::Buffer stage(const std::string& name) {
    const loops::Buffer x = any();
    const std::int64_t rows = x->shape[0], columns = x->shape[1];
    if (is_floating(dtype_) && chance(25)) return weighted_softmax(name, x);
    switch (pick(8)) {
      case 0: {  // elementwise
        const int kind = pick(4);
        return definition_.compute(name, dtype_, {{"r", rows}, {"c", columns}}, [&](const Indices& i) {
          const loops::Expr value = at(x, i);
          if (kind == 0) return tensor::maximum(value, number(0));
          if (kind == 1) return value * number(3) + number(1);
          if (kind == 2) return tensor::minimum(value + value, number(50));
          return value - loops::cast(dtype_, i[0]);
        });
      }
      case 1: {  // two operands of one shape, or a column broadcast
        loops::Buffer y = any();
        const bool same = y->shape == x->shape;
        return definition_.compute(name, dtype_, {{"r", rows}, {"c", columns}}, [&](const Indices& i) {
          return at(x, i) + (same ? at(y, i) : at(x, {i[0], loops::int_imm(0)}));
        });
      }
      case 2: {  // matrix product with a transposed constant
        const std::int64_t columns_out = 2 + pick(5);
        const loops::Buffer w = input({columns_out, columns});
        tensors_.pop_back();
        return definition_.reduce(name, dtype_, {{"r", rows}, {"c", columns_out}}, {{"k", columns}},
                                  tensor::sum_reducer(), [&](const Indices& i, const Indices& k) {
                                    return at(x, {i[0], k[0]}) * at(w, {i[1], k[0]});
                                  });
      }
      case 3: {  // convolution, padded by select
        const std::int64_t window = 1 + pick(3), stride = 1 + pick(2), pad = pick(2);
        if (columns + 2 * pad < window) return transpose(name, x);
        const std::int64_t out = (columns + 2 * pad - window) / stride + 1;
        return definition_.reduce(
            name, dtype_, {{"r", rows}, {"c", out}}, {{"d", rows}, {"k", window}}, tensor::sum_reducer(),
            [&](const Indices& i, const Indices& k) {
              const loops::Expr place = i[1] * stride + k[1] - pad;
              const loops::Expr value = pad == 0 ? at(x, {k[0], place}) : masked(x, k[0], place, 0);
              return value * (loops::cast(dtype_, k[1]) + loops::cast(dtype_, i[0]) + number(1));
            });
      }
      case 4: {  // pooling, with or without a masked border
        const std::int64_t window = 2 + pick(2), stride = 1 + pick(2), pad = pick(2);
        if (columns + 2 * pad < window) return transpose(name, x);
        const std::int64_t out = (columns + 2 * pad - window) / stride + 1;
        return definition_.reduce(
            name, dtype_, {{"r", rows}, {"c", out}}, {{"k", window}},
            chance(50) ? tensor::max_reducer() : tensor::min_reducer(), [&](const Indices& i, const Indices& k) {
              const loops::Expr place = i[1] * stride + k[0] - pad;
              return pad == 0 ? at(x, {i[0], place}) : masked(x, i[0], place, pick(2) ? INT32_MIN : INT32_MAX);
            });
      }
      case 5: return transpose(name, x);
      case 6: {  // masked sum, the padding form that decompose_reduction recognizes
        const std::int64_t window = 2 + pick(2);
        return definition_.reduce(
            name, dtype_, {{"r", rows}, {"c", columns}}, {{"k", window}}, tensor::sum_reducer(),
            [&](const Indices& i, const Indices& k) { return masked(x, i[0], i[1] + k[0] - 1, 0); });
      }
      default: {  // every second column, reversed rows
        return definition_.compute(name, dtype_, {{"r", rows}, {"c", (columns + 1) / 2}}, [&](const Indices& i) {
          return at(x, {loops::int_imm(rows - 1) - i[0], i[1] * 2});
        });
      }
    }
  }

  // Values that are so far apart that their exponentials are 1 and 0: all sums are exact.
  loops::Buffer weighted_softmax(const std::string& name, const loops::Buffer& x) {
    constexpr std::int64_t kApart = 200;
    const tensor::Axes row{{"r", x->shape[0]}}, along{{"c", x->shape[1]}};
    const std::int64_t width = 2 + pick(4);
    const loops::Buffer v = input({x->shape[1], width});
    tensors_.pop_back();
    const auto element = [&](const loops::Expr& r, const loops::Expr& c) { return at(x, {r, c}) * number(kApart); };
    const loops::Buffer largest =
        definition_.reduce(name + ".max", dtype_, row, along, tensor::max_reducer(),
                           [&](const Indices& i, const Indices& c) { return element(i[0], c[0]); });
    const loops::Buffer power = definition_.compute(name + ".exp", dtype_, {row[0], along[0]}, [&](const Indices& i) {
      return tensor::exponential(element(i[0], i[1]) - at(largest, {i[0]}));
    });
    const loops::Buffer sum = definition_.reduce(name + ".sum", dtype_, row, along, tensor::sum_reducer(),
                                                 [&](const Indices& i, const Indices& c) {
                                                   return at(power, {i[0], c[0]});
                                                 });
    const loops::Buffer weighted =
        definition_.reduce(name + ".weighted", dtype_, {row[0], {"e", width}}, along, tensor::product_sum_reducer(),
                           [&](const Indices& i, const Indices& c) {
                             return at(power, {i[0], c[0]}) * at(v, {c[0], i[1]});
                           });
    return definition_.compute(name, dtype_, {row[0], {"e", width}},
                               [&](const Indices& i) { return at(weighted, i) - at(sum, {i[0]}); });
  }

  loops::Buffer transpose(const std::string& name, const loops::Buffer& x) {
    return definition_.compute(name, dtype_, {{"r", x->shape[1]}, {"c", x->shape[0]}}, [&](const Indices& i) {
      return at(x, {i[1], i[0]});
    });
  }

  loops::Expr masked(const loops::Buffer& x, const loops::Expr& row, const loops::Expr& column,
                     std::int64_t otherwise) const {
    const loops::Expr inside =
        loops::logical_and(loops::binary(loops::BinaryOp::ge, column, loops::int_imm(0)),
                           loops::binary(loops::BinaryOp::lt, column, loops::int_imm(x->shape[1])));
    return loops::select(inside, at(x, {row, column}), number(otherwise));
  }

  std::mt19937_64 random_;
  DType dtype_;
  tensor::Definition definition_;
  std::vector<loops::Buffer> tensors_;
  std::vector<NdArray> arguments_;
};

}  // namespace dovetail::schedule::test
