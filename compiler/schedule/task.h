// What a kernel's schedules are made for: all that decides which schedules are legal, and what one is worth. A task and
// a trace make a program, on every target: whatever changes the operator's program before the first step was done when
// the task was made.
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

// Whether what is computed before a task takes as long as loading the task's weights, which then come meanwhile. Only
// analytic choices ask.
enum class Start : std::uint8_t { after_others, alone };
// What a task's tiles go over first, where the operation has no separate reason: pixels where another operation reads
// all channels of the first rows while this one computes the next.
enum class TileOrder : std::uint8_t { channels_first, pixels_first };

// What a task's schedule must suit in addition to the machine.
struct Intent {
  Start start = Start::after_others;
  TileOrder order = TileOrder::channels_first;
  auto operator<=>(const Intent&) const = default;
};

struct Task {
  std::string target, kind;  // "cpu", "convolution": whose sketch writes its schedules
  loops::Program program;    // its name is for people, and no part of the key
  // What was done to the operator's program, in words: "shift_activations conv 4". What it rests on, such as bounds of
  // constants, is thereby in the program.
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
