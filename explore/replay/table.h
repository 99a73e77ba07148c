// The costs of a task's candidates, each measured once. Searches are compared on the table without measuring again. Its
// text has these lines:
//
//   dovetail tuning table 1
//   name accel.conv3x3                 the text after the word, up to the end of the line
//   task 0123456789abcdef              its key (compiler/schedule/task.h)
//   sketch 1                           version
//   machine cycle simulator, memory ideal
//   unit cycles
//   holds all                          every candidate of the space; or `holds a sample`, of distinct random draws
//   cost tile_o tile_c pack            the columns below: decisions in the order in which they are sampled
//   81234 4 2 -                        the default schedule; `-`: this decision is not sampled for it
//   wrong 4 4 yes                      a candidate that was not measured: its outcome
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/tune/measure.h"

namespace dovetail::explore {

struct TableRow {
  schedule::Decisions decisions;
  tune::Outcome outcome = tune::Outcome::measured;
  double cost = 0;  // infinity if it was not measured
};

struct Table {
  std::string name, task, machine, unit;
  int sketch_version = 1;
  bool whole = false;                  // the table has every candidate
  std::vector<std::string> decisions;  // names
  std::vector<TableRow> rows;          // the first row is the default, which was measured
};

// Precondition: no name or value contains a space or is "-".
std::string to_string(const Table& table);
// Errors name the line.
Result<Table> parse_table(std::string_view text, std::string_view where);

}  // namespace dovetail::explore
