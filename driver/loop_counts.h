// What a run of a loop program does, counted from its loops without running it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "loops/ir.h"

namespace dovetail::driver {

// Conditions count as true, also the predicates of blocks, and both sides of a select are counted. Index arithmetic is
// not. Doubles, since programs of any size are counted.
struct LoopCounts {
  double loads = 0, stores = 0;                     // elements
  double operations = 0;                            // arithmetic on values; a multiply-add is two
  double calls = 0;                                 // of intrinsics
  std::map<std::string, std::uint64_t> bytes = {};  // of buffers, by memory scope
  bool depends_on_data = false;                     // a condition loads from a buffer: the counts are bounds
};
LoopCounts count_loops(const loops::Program& program);
// The operations of a run; 0: they depend on data.
double known_operations(const loops::Program& program);
// ", 3.1 GOP/s"; empty if the operations are not known (0).
std::string rate_text(double operations, double seconds);

// "1,048,576 operations, 2,097,152 loads, 16,384 stores; global 48 KiB, accel.acc 1 KiB". With counts of another
// program, those that differ are preceded by its: "2,097,152 -> 1,048,576 loads".
std::string counts_text(const LoopCounts& counts, const LoopCounts* before = nullptr);
// Only those that differ: "2,097,152 -> 1,048,576 loads; accel.acc 0 B -> 1 KiB". Empty: none.
std::string changes_text(const LoopCounts& before, const LoopCounts& after);
Json to_json(const LoopCounts& counts);

}  // namespace dovetail::driver
