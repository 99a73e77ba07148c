// What is done to a group's program before its first schedule step, and to constants with it: the task's prepare steps,
// as far as several targets do them.
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
  std::map<std::size_t, NdArray> constants;  // arguments whose value is another than the group's

  const loops::Block* block(const std::string& name) const;  // null where there is none

  // Makes the activations of integer block `main` unsigned (shift_activations.h) and corrects the bias, which must be a
  // constant added after it. Nothing where that cannot be done.
  void shift_activations(const std::string& main);
  // Takes the zero point out of integer block `main`, for products of signed bytes (shift_activations.h), and corrects
  // the bias. Nothing where that cannot be done.
  void drop_zero_point(const std::string& main);
  // Has constant factors of one byte in contraction `main` (schedule/contraction.h) are stored with the depth last,
  // where rows or columns are: what multiplies bytes reads neighbors of the depth at once. Nothing where there are
  // none.
  void put_depth_last(const std::string& main);

 protected:
  const FusedGroup& group() const { return group_; }
  std::optional<std::size_t> argument(const std::string& name) const;  // position of a parameter
  const NdArray* constant(std::size_t position) const;  // as it is by now; null where the argument is none
  // The constant that is added to the int32 sums of block `main` wherever they are read, and the dimension of the sums
  // that it goes with.
  struct Bias {
    std::size_t argument, dimension;
  };
  std::optional<Bias> bias_of(const std::string& main) const;

 private:
  // False where there is no such bias, or what the weights sum up to is not one number for each of its elements.
  bool correct_bias(const std::string& main, const ShiftedProgram& shifted);

  const FusedGroup& group_;
};

}  // namespace dovetail::prepare
