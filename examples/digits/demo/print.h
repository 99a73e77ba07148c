// Prints the demonstration's report.
#pragma once

#include <cstddef>
#include <vector>

#include "examples/digits/demo/demonstrate.h"

namespace digits {

void print_demonstration(const Demonstration& demo);

void print_on_design(const OnDesign& design, const std::string& model);

// Accuracy and agreement of all variants, in one table.
void print_verdict(const std::vector<Demonstration>& demos, std::size_t float_correct,
                   const std::vector<Stage>& stages);

}  // namespace digits
