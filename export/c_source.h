// The files of an exported program: the text of NAME.h, NAME.c, test_NAME.c, CMakeLists.txt and README.txt.
#pragma once

#include <map>
#include <string>

#include "base/ndarray.h"
#include "export/plan.h"

namespace dovetail::exporting {

std::string header_text(const Plan& plan);
std::string source_text(const Plan& plan);

// One run: arrays by the names of the model's inputs and outputs.
struct GoldenVector {
  std::map<std::string, NdArray> inputs, outputs;
  std::string origin;  // of the inputs, for a comment
};
std::string test_text(const Plan& plan, const GoldenVector& golden);

std::string cmake_text(const Plan& plan);
std::string readme_text(const Plan& plan);

// Elements as an initializer, in lines; 16-bit floats and bools as their bits. `indent`: of each line.
std::string initializer(const NdArray& values, std::string_view indent);

}  // namespace dovetail::exporting
