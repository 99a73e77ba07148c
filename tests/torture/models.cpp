#include "tests/torture/models.h"

#include <cstdlib>
#include <stdexcept>

#include "simulator/rtl/build.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/model_file.h"
#include "tests/skip.h"

namespace dovetail::test {

namespace fs = std::filesystem;

std::optional<fs::path> rtl_model(const isa::HardwareConfig& config, bool waves) {
  // The cache of tests is next to the build, also for the programs that a test starts.
  setenv("XDG_CACHE_HOME", DOVETAIL_BINARY_DIR "/rtl/tests", 1);
  if (!simulator::verilator_version() && !simulator::find_rtl_model(config, waves).ok()) {
    skip("Verilator is not installed, and there is no RTL model of " + config.name);
    return std::nullopt;
  }
  auto model = simulator::find_or_build_rtl_model(config, {.kind = {.waves = waves, .optimize = false}});
  if (!model.ok()) throw std::runtime_error(to_string(model.errors()));
  return *std::move(model);
}

}  // namespace dovetail::test
