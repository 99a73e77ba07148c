// What compilations for one hardware leave to those for others, as those of a sweep are: schedules, and where the
// buffers of operations lie. Everything is kept under all that it follows from, so that programs are the same with it
// and without. May be used by several threads at once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/schedule_memo.h"
#include "compiler/target/accel/sketches/tile_model.h"
#include "isa/config.h"

namespace dovetail::accel {

// Places of operations (on_chip_places) by their form and the blocks of the hardware: the smallest tile is the same
// whatever else the hardware has.
class PlacesMemo {
 public:
  static std::string key(const std::string& form, const isa::HardwareConfig& config);
  std::optional<std::vector<OnChip>> find(const std::string& key) const;
  void keep(const std::string& key, const std::vector<OnChip>& places);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<OnChip>> places_;
};

struct Memo {
  // Shared with tasks, which outlive no compilation.
  std::shared_ptr<schedule::ScheduleMemo> schedules = std::make_shared<schedule::ScheduleMemo>();
  PlacesMemo places;
};

}  // namespace dovetail::accel
