// A kernel to be scheduled: everything that determines which schedules are legal, and how good they are. On every
// target, a task and a trace give the scheduled program: all changes of the operator's program before the first step
// are already made in the task.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

// Whether the computation before this task is long enough to hide the loads of its weights. Affects only analytic
// choices.
enum class Start : std::uint8_t { after_others, alone };
// The loop order of a task's tiles, if the operation does not determine it: pixels first, if another operation reads
// all channels of the first rows while this one computes the next.
enum class TileOrder : std::uint8_t { channels_first, pixels_first };

// What a task's schedule must suit in addition to the machine.
struct Intent {
  Start start = Start::after_others;
  TileOrder order = TileOrder::channels_first;
  bool int4_weights = false;  // weights have 4 bits in DRAM, though 8 in the program. Affects only analytic choices
  auto operator<=>(const Intent&) const = default;
};

struct Task {
  std::string target, kind;  // "cpu", "convolution": whose sketch writes its schedules
  loops::Program program;    // its name is for people, and no part of the key
  // The changes made to the operator's program, as text: "shift_activations conv 4". The facts that justify them, such
  // as bounds of constants, are then part of the program.
  std::vector<std::string> prepared = {};
  std::map<std::string, std::string> layouts = {};  // index maps that are asked for, by parameter; none: as it is
  Json facts = Json::object();                      // of the machine, as far as schedules depend on them
  std::shared_ptr<const loops::IntrinsicTable> intrinsics = std::make_shared<loops::IntrinsicTable>();
  Intent intent = {};
};

// All of it in lines of text, the program last.
std::string to_string(const Task& task);

// Sixteen hexadecimal digits, a hash of that text without the program's name: equal for equal kernels of one or several
// models.
std::string key(const Task& task);

}  // namespace dovetail::schedule
