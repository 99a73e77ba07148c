// A target whose steps are operations of a library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/target.h"

namespace dovetail::library {

struct Library {
  std::string_view target;  // name in --target, with a row of bundle::library_facts
  std::vector<PatternRow> rows;
  double (*seconds)(DType type, const Cost& work) = nullptr;  // time of a match whose first operand has that type
  // true: each match is a separate step, and results are in the memory of target cuda; false: a region is a step on the
  // host's memory.
  bool on_device = false;
  bool tf32 = false;     // operations on float32 may round their factors to TF32
  double tolerance = 0;  // Target::tolerance
};
TargetPointer make_target(Library library);
// A target for one of NVIDIA's libraries.
TargetPointer make_gpu_target(std::string_view target, std::vector<PatternRow> rows, bool tf32);

}  // namespace dovetail::library
