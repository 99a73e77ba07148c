// Transformations of a group's program, and of its constants, before the first schedule step: the task's prepare steps,
// as far as several targets use them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "compiler/fuse/fuse.h"
#include "compiler/prepare/shift_activations.h"
#include "compiler/schedule/task.h"
#include "loops/ir.h"

namespace dovetail::prepare {

class Preparation {
 public:
  // `group` must outlive the preparation; the task's program is the group's at first.
  Preparation(const FusedGroup& group, schedule::Task task);

  schedule::Task task;
  std::map<std::size_t, NdArray> constants;  // arguments whose value differs from the group's

  const loops::Block* block(const std::string& name) const;  // null if there is no such block

  // Makes the activations of integer block `main` unsigned (shift_activations.h) and corrects the bias, which must be a
  // constant added after it. No effect if that is not possible.
  void shift_activations(const std::string& main);
  // Replaces the activations of integer block `main` by 16-bit words with the zero point subtracted
  // (shift_activations.h). No effect if that is not possible.
  void widen_activations(const std::string& main);
  // Removes the zero point from integer block `main`, for products of signed bytes (shift_activations.h), and corrects
  // the bias. No effect if that is not possible.
  void drop_zero_point(const std::string& main);
  // Moves the depth of constant factors of type `type` in contraction `main` (schedule/contraction.h) to the last
  // dimensions, in the order of its iterators, if rows or columns are there or the order is another one: some
  // instructions read contiguous elements of the depth. No effect if there are no such factors.
  void put_depth_last(const std::string& main, DType type);
  // If contraction `main` multiplies constants by patches of an image, or by an image whose rows do not fit together in
  // pieces of `bytes`: a block before it copies the image with channels last (copy_factors.h), the depth of the sums
  // ends with the channels, and so do the constants. No effect where the order of sums is fixed, or where channels do
  // not fill pieces of `bytes`. `turned`: also copies images that have such rows, because the machine cannot multiply
  // them.
  void put_channels_last(const std::string& main, std::int64_t bytes, bool turned);
  // Rounds the float32 factors of contraction `main` to TF32 (round_factors.h): constants that no other block reads
  // ahead of time, and if `variables`, others in a block before it (copy_factors.h). This changes results: the caller
  // has the user's permission. No effect if the factors are of another type, or rounded already.
  void round_factors(const std::string& main, bool variables);

 protected:
  const FusedGroup& group() const { return group_; }
  std::optional<std::size_t> argument(const std::string& name) const;  // position of a parameter
  const NdArray* constant(std::size_t position) const;  // its current value; null if the argument is not constant
  // The bias: a constant that is added to the int32 sums of block `main` at all their uses, and the dimension of the
  // sums that it is indexed by.
  struct Bias {
    std::size_t argument, dimension;
  };
  std::optional<Bias> bias_of(const std::string& main) const;

 private:
  // Whether other blocks than `main` read the buffer.
  bool is_read_elsewhere(const loops::Buffer& buffer, const std::string& main) const;
  // False if there is no such bias, or the sum of the weights is not one number for each of its elements.
  bool correct_bias(const std::string& main, const ShiftedProgram& shifted);

  const FusedGroup& group_;
};

}  // namespace dovetail::prepare
