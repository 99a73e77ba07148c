// Scheduled programs with places on chip, and their instructions, as questions to a memo (base/memo.h).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/schedule/keyed_task.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/accel/lower/lowering_facts.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/schedule/tile_model.h"
#include "loops/ir.h"

namespace dovetail::accel {

// A scheduled program and the places of its buffers without regard to other programs (find_places).
struct PlacedProgram {
  loops::Program program;
  std::shared_ptr<const loops::IntrinsicTable> intrinsics;
  Placements placements;        // they refer to the program
  std::vector<OnChip> on_chip;  // on_chip_places()
};

// The placed program of a task's schedule. Task and trace determine the program, so they are the key.
class PlacedProgramOf {
 public:
  PlacedProgramOf(schedule::KeyedTask task, const schedule::Scheduled& scheduled, const BlockSizes& sizes);

  std::strong_ordering operator<=>(const PlacedProgramOf& other) const;
  bool operator==(const PlacedProgramOf& other) const { return *this <=> other == 0; }
  using Answer = PlacedProgram;
  static constexpr std::size_t kKept = 4096;
  Result<Answer> answer() const;

 private:
  schedule::KeyedTask task_;
  std::string trace_;  // the trace's text
  loops::Program program_;
  BlockSizes sizes_;
};

// Gets the placed program from the memo. `scheduled`: gets the program that the places refer to, but keeps its name.
// Throws if the places differ from those by which the sketch chose the tile (TilePlaces).
std::shared_ptr<const PlacedProgram> place_program(const schedule::Task& task, schedule::Scheduled& scheduled,
                                                   const BlockSizes& sizes, Memo& memo);

// The result of lower() for a placed program whose buffers begin at these addresses.
struct LoweredProgramAt {
  LoweredProgramAt(std::shared_ptr<const PlacedProgram> program, const Placements& placements,
                   const LoweringFacts& lowering);

  std::shared_ptr<const PlacedProgram> placed;
  struct Begin {
    std::int64_t base, first;  // Placement
    auto operator<=>(const Begin&) const = default;
  };
  std::vector<Begin> begins;  // beginning of each allocation of the program
  LoweringFacts facts;
  auto operator<=>(const LoweredProgramAt&) const = default;

  using Answer = Lowered;
  static constexpr std::size_t kKept = 1024;  // an entry takes about 50 KiB, mostly instructions
  Result<Answer> answer() const;
};

}  // namespace dovetail::accel
