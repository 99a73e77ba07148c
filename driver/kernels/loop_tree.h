// The loops and blocks of a program as a tree of lines: for people who write its schedule.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "compiler/schedule/schedule.h"
#include "loops/ir.h"

namespace dovetail::driver {

// Remarks after the lines of loops and blocks, by their names.
using TreeMarks = std::map<std::string, std::string>;

// for it in 64 parallel      # 261 KiB
//   for y.r in 256           # 2 KiB    <-- parallel y.r
//     block y: y from y, x, w
// Every line begins with two spaces. After # is the memory that one iteration accesses (loop_footprints). `below`: only
// the loop or block of this name; empty: all.
std::string loop_tree(const loops::Program& program, const TreeMarks& marks = {}, std::string_view below = {});

// The remarks for a step that `program` rejected: at the loops and blocks that the step names, and at those that the
// diagnostic names, where that is another place.
TreeMarks marks_of(const loops::Program& program, const schedule::Step& step, const Diagnostics& rejection);

// Whether the program has a loop, a block or a buffer of that name.
enum class Named : unsigned char { nothing, loop, block, buffer };
Named named(const loops::Program& program, std::string_view name);

}  // namespace dovetail::driver
