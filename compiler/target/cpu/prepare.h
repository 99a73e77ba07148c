// The prepare steps of the CPU's tasks: those shared with other targets (compiler/prepare/preparation.h), and its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/fuse/fuse.h"
#include "compiler/prepare/preparation.h"
#include "compiler/schedule/task.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/extend_product.h"

namespace dovetail::cpu {

// The required layouts of a group's operands, if its schedule leaves them open. Constants can have any layout.
struct GroupLayouts {
  std::vector<std::string> arguments, results;
};

class Preparation : public prepare::Preparation {
 public:
  Preparation(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu, std::string_view kind);

  const Cpu& cpu;

  // Sums the products of integer block `main` in floats (float_sums.h) if its weights prove that to be exact.
  void sum_in_floats(const std::string& main, const std::string& weights);
  // Extends iterators of block `main` (extend_product.h). No effect if that is not possible.
  void extend_product(const std::string& main, const Extents& extents);
  // Adds rows of zeros to constants, which no loop reads: tiles of `multiple` rows then cover them.
  void pad_rows(const std::vector<std::string>& names, std::int64_t multiple);
  // Records bounds of the accumulator of integer block `main`, if its weights and bias prove that it is small, and of
  // constant scales in any case, as clamps that do not change results: requantization then needs only a few operations
  // in binary32 or binary64 (codegen/kernel.h).
  void bound_accumulator(const std::string& main, const std::string& weights);
  // Initializes the sums of integer block `main` with the constant that is added to them, without clamps if the types
  // of their terms prove the bound (codegen/sum_bounds.h).
  void start_with_bias(const std::string& main);
  // Convolution `main` skips products with padding (skip_padding.h) if these are zeros that `weights` cannot turn into
  // NaN, and if there are enough to be worth the code.
  void skip_padding(const std::string& main, const std::string& weights);
  // Adds an iterator g for the groups of convolution `main`: output channel o becomes g * (channels of a group) + o,
  // and o // (channels of a group) becomes g.
  void split_groups(const std::string& main, std::int64_t groups);

 private:
  struct Scales {
    double least, largest;  // magnitudes
  };
  std::optional<Scales> scales(const loops::Expr& scale) const;  // nullopt if they are not finite constants
};

}  // namespace dovetail::cpu
