// How accelerators that divide layers, or the images of a batch, divide each layer of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "bundle/code/accel.h"

namespace dovetail::bundle {

struct DividedLayer {
  struct Part {
    std::size_t accelerator = 0;
    std::int64_t begin = 0, end = 1;  // pieces
    bool operator==(const Part&) const = default;
  };
  std::string step, name;
  std::string by;           // RangePart::by; empty: one accelerator computes the whole layer
  std::int64_t pieces = 1;  // of all parts
  std::vector<Part> parts;  // by accelerator, then by pieces; neighboring pieces are one part

  std::int64_t pieces_of(std::size_t accelerator) const;
};
// The layers in the order of the instructions; empty for a program of one accelerator.
std::vector<DividedLayer> divided_layers(const std::string& step, const AccelCode& code);
std::vector<DividedLayer> divided_layers(const Bundle& bundle);  // of all its steps, whose code must be valid

}  // namespace dovetail::bundle
