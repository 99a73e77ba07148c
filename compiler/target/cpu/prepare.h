// What is done to a group's program before its first schedule step, and to constants with it: the task's prepare steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/task.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/extend_product.h"
#include "compiler/target/cpu/shift_activations.h"

namespace dovetail::cpu {

// How a group's operands are to lie, as far as its schedule leaves that open. Constants may be had in any layout.
struct GroupLayouts {
  std::vector<std::string> arguments, results;
};

class Preparation {
 public:
  Preparation(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu, std::string_view kind);

  const Cpu& cpu;
  schedule::Task task;
  std::map<std::size_t, NdArray> constants;  // arguments whose value is another than the group's

  const loops::Block* block(const std::string& name) const;  // null where there is none

  // Makes the activations of integer block `main` unsigned (shift_activations.h) and corrects the bias, which must be a
  // constant added behind it. Nothing where that cannot be done.
  void shift_activations(const std::string& main);
  // Sums the products of integer block `main` up in floats (float_sums.h) where its weights prove that to be exact.
  void sum_in_floats(const std::string& main, const std::string& weights);
  // Takes the zero point out of integer block `main`, for products of signed bytes (shift_activations.h), and corrects
  // the bias. Nothing where that cannot be done.
  void drop_zero_point(const std::string& main);
  // Extends iterators of block `main` (extend_product.h). Nothing where that cannot be done.
  void extend_product(const std::string& main, const Extents& extents);
  // Writes down how large the accumulator of integer block `main` can be where its weights and bias say that it is
  // small, and how large constant scales are, as clamps that change no result: requantisation is then a few operations
  // of binary32 or binary64 (codegen/kernel.h).
  void bound_accumulator(const std::string& main, const std::string& weights);
  // Convolution `main` gets an iterator g of its groups: output channel o becomes g * (channels of a group) + o, and
  // o // (channels of a group) is g.
  void split_groups(const std::string& main, std::int64_t groups);

 private:
  struct Scales {
    double least, largest;  // magnitudes
  };
  std::optional<Scales> scales(const loops::Expr& scale) const;        // nullopt where they are no finite constants
  std::optional<std::size_t> argument(const std::string& name) const;  // position of a parameter
  // False where there is no such bias, or it does not go with the weights' first dimension.
  bool correct_bias(const std::string& main, const ShiftedProgram& shifted);
  std::optional<std::size_t> bias_of(const std::string& main) const;  // of the constant that is added to its int32 sums

  const FusedGroup& group_;
};

}  // namespace dovetail::cpu
