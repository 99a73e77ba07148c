// The prepare steps of the CPU's tasks: those that targets share (compiler/prepare/preparation.h), and its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "compiler/fuse/fuse.h"
#include "compiler/prepare/preparation.h"
#include "compiler/schedule/task.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/extend_product.h"

namespace dovetail::cpu {

// How a group's operands are to lie, as far as its schedule leaves that open. Constants may be had in any layout.
struct GroupLayouts {
  std::vector<std::string> arguments, results;
};

class Preparation : public prepare::Preparation {
 public:
  Preparation(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu, std::string_view kind);

  const Cpu& cpu;

  // Sums the products of integer block `main` up in floats (float_sums.h) where its weights prove that to be exact.
  void sum_in_floats(const std::string& main, const std::string& weights);
  // Extends iterators of block `main` (extend_product.h). Nothing where that cannot be done.
  void extend_product(const std::string& main, const Extents& extents);
  // Writes down how large the accumulator of integer block `main` can be where its weights and bias say that it is
  // small, and how large constant scales are in any case, as clamps that change no result: requantization is then a few
  // operations of binary32 or binary64 (codegen/kernel.h).
  void bound_accumulator(const std::string& main, const std::string& weights);
  // The sums of integer block `main` start with the constant that is added to them, and are not clamped where the types
  // of what they add up prove the bound (codegen/sum_bounds.h).
  void start_with_bias(const std::string& main);
  // Convolution `main` leaves out its products with padding (skip_padding.h), where these are no zeros that only
  // `weights` could make NaN, and enough of them to be worth the code.
  void skip_padding(const std::string& main, const std::string& weights);
  // Convolution `main` gets an iterator g of its groups: output channel o becomes g * (channels of a group) + o, and
  // o // (channels of a group) is g.
  void split_groups(const std::string& main, std::int64_t groups);

 private:
  struct Scales {
    double least, largest;  // magnitudes
  };
  std::optional<Scales> scales(const loops::Expr& scale) const;  // nullopt where they are no finite constants
};

}  // namespace dovetail::cpu
