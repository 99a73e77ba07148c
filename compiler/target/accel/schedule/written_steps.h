// The steps of a sketch, and the on-chip places of its smallest tile, as questions to a memo (base/memo.h).
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/keyed_task.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/tile_model.h"

namespace dovetail::accel {

// A task reduced to what the steps of a sketch depend on: of the machine only its intrinsics, of the intent only the
// order.
schedule::KeyedTask task_of_steps(schedule::Task task, Memo& memo);

// The steps of a task's sketch, without samples and before slots.
struct WrittenSteps {
  schedule::KeyedTask task;  // task_of_steps()
  BlockSizes sizes;
  bool constants_stay;
  Tile tile;
  schedule::Decisions others;  // without the tile and its slots
  auto operator<=>(const WrittenSteps&) const = default;

  struct Answer {
    schedule::KeptSteps steps;
    std::vector<std::string> inputs, weights;  // copies of operands that get slots, in INP and in WGT
  };
  static constexpr std::size_t kKept = 4096;  // an entry takes 20 to 60 KiB, mostly its key and its program
  Result<Answer> answer() const;
};

// The on-chip places of any tile of a task (OnChip). They are the same for every task of the kind with the same blocks
// and buffers, for any extents. The key does not prove this, so every scheduled program is checked (placed_program.h).
class TilePlaces {
 public:
  TilePlaces(schedule::KeyedTask task, const BlockSizes& sizes);

  std::strong_ordering operator<=>(const TilePlaces& other) const;
  bool operator==(const TilePlaces& other) const { return *this <=> other == 0; }
  using Answer = std::vector<OnChip>;
  static constexpr std::size_t kKept = 4096;
  Result<Answer> answer() const;

 private:
  WrittenSteps smallest_;  // steps of any task with this form
  std::string form_;       // kind, blocks and buffers
};

}  // namespace dovetail::accel
