#include "tests/torture/models.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "simulator/rtl/find.h"
#include "tests/skip.h"

namespace dovetail::test {

namespace fs = std::filesystem;

namespace {

// A file that is locked while this lives, once it has been.
class Lock {
 public:
  explicit Lock(fs::path path)
      : path_(std::move(path)), file_(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + path_.string());
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool try_lock() { return flock(file_, LOCK_EX | LOCK_NB) == 0; }
  void lock() {
    if (flock(file_, LOCK_EX) != 0) throw std::runtime_error("cannot lock " + path_.string());
  }

 private:
  fs::path path_;
  int file_;
};

// The cache of models, keyed by the design's sources; that of tests is beside the build.
fs::path cache() { return fs::path(DOVETAIL_BINARY_DIR) / "rtl" / "tests"; }

fs::path lock_file(const isa::HardwareConfig& config, bool waves) {
  return cache() / (simulator::rtl_model_file(config, waves) + ".lock");
}

// Precondition: the lock of the model is held.
fs::path make_model(const isa::HardwareConfig& config, bool waves) {
  auto built = simulator::build_rtl_model(config, {.waves = waves, .optimise = false});
  if (!built.ok()) throw std::runtime_error(to_string(built.errors()));
  return *built;
}

// The model of some named configuration that has none and that nobody is making; false: there is none to make.
bool make_another() {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    if (simulator::find_rtl_model(config, false).ok()) continue;
    Lock lock(lock_file(config, false));
    if (!lock.try_lock() || simulator::find_rtl_model(config, false).ok()) continue;
    make_model(config, false);
    return true;
  }
  return false;
}

}  // namespace

std::optional<fs::path> rtl_model(const isa::HardwareConfig& config, bool waves) {
  setenv("XDG_CACHE_HOME", cache().c_str(), 1);
  if (auto found = simulator::find_rtl_model(config, waves); found.ok()) return *found;
  if (std::system("command -v verilator >/dev/null 2>&1") != 0) {
    skip("Verilator is not installed, and there is no RTL model of " + config.name);
    return std::nullopt;
  }
  fs::create_directories(cache());
  // Tests ask for the same models in the same order. One makes a model; those that would wait for it make others
  // meanwhile.
  Lock lock(lock_file(config, waves));
  while (!lock.try_lock())
    if (!make_another()) {
      lock.lock();
      break;
    }
  if (auto found = simulator::find_rtl_model(config, waves); found.ok()) return *found;
  return make_model(config, waves);
}

}  // namespace dovetail::test
