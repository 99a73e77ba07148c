// Small sound models to start from: one or more for each operator, made from its table row, and a few that hold what
// quantized and exported models do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dovetail::test {

struct SeedModel {
  std::string name;
  std::vector<std::byte> bytes;
};

// All of them are imported without error. Always the same.
std::vector<SeedModel> seed_models();

}  // namespace dovetail::test
