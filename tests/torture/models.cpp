#include "tests/torture/models.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "simulator/rtl/find.h"
#include "tests/skip.h"

namespace dovetail::test {

namespace fs = std::filesystem;

namespace {

// A file that is locked while this lives.
class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) throw std::runtime_error("cannot lock " + path.string());
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// The cache of models, keyed by the design's sources; that of tests is beside the build.
fs::path cache() { return fs::path(DOVETAIL_BINARY_DIR) / "rtl" / "tests"; }

}  // namespace

std::optional<fs::path> rtl_model(const isa::HardwareConfig& config, bool waves) {
  setenv("XDG_CACHE_HOME", cache().c_str(), 1);
  if (auto found = simulator::find_rtl_model(config, waves); found.ok()) return *found;
  if (std::system("command -v verilator >/dev/null 2>&1") != 0) {
    skip("Verilator is not installed, and there is no RTL model of " + config.name);
    return std::nullopt;
  }
  fs::create_directories(cache());
  // The first test to ask builds it; others wait for that one.
  const Lock lock(cache() / (simulator::rtl_model_file(config, waves) + ".lock"));
  if (auto found = simulator::find_rtl_model(config, waves); found.ok()) return *found;
  auto built = simulator::build_rtl_model(config, {.waves = waves, .optimise = false});
  if (!built.ok()) throw std::runtime_error(to_string(built.errors()));
  return *built;
}

}  // namespace dovetail::test
