// Small valid models to start from: at least one for each operator, made from its table row, and a few with the
// structure of quantized and exported models.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dovetail::test {

struct SeedModel {
  std::string name;
  std::vector<std::byte> bytes;
};

// All of them are imported without error. The result is always the same.
std::vector<SeedModel> seed_models();

}  // namespace dovetail::test
