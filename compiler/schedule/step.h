// A line of a schedule's trace.
#pragma once

#include <string>
#include <vector>

namespace dovetail::schedule {

// "split conv.o 16 -> conv.o_0 conv.o_1": one line of a trace. Words contain no blanks.
struct Step {
  std::string primitive;
  std::vector<std::string> arguments;
  std::vector<std::string> results;  // names of the step's results; empty: the primitive's default names
  bool operator==(const Step&) const = default;
};
std::string to_string(const Step& step);

}  // namespace dovetail::schedule
