// Models in ONNX's format: tests/fuzz/target.h.
#include "tests/fuzz/target.h"
#include "tests/fuzz/compiler/import/mutate_model.h"
#include "tests/fuzz/compiler/import/seed_models.h"
#include "tests/fuzz/compiler/import/take_model.h"

namespace dovetail::test {

FuzzTarget import_target() {
  return {[] {
            std::vector<FuzzSeed> seeds;
            for (SeedModel& seed : seed_models()) seeds.push_back({seed.name + ".onnx", std::move(seed.bytes)});
            return seeds;
          },
          [](std::span<const std::byte> bytes) { return take_model(bytes).broken; }, mutate_model};
}

}  // namespace dovetail::test
