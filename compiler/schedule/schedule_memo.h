// What sketches make of programs once everything is decided, kept for many schedules. The steps behind the last
// decision are a pure function of the program, the intrinsics, what was decided, and the few facts of the machine that
// they use beyond these, which the sketch names. So machines that differ in sizes of buffers or in their port share
// schedules wherever their decisions are the same, whatever it is in the machine that made them so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/step.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

// All that steps read of intrinsics.
std::string text_of(const loops::IntrinsicTable& intrinsics);

// May be used by several threads at once.
class ScheduleMemo {
 public:
  // Schedules that are kept at least, and twice as many at most: those used longest ago are forgotten. One takes 20 to
  // 60 KiB, mostly its key and its program.
  static constexpr std::size_t kSchedules = 4096;
  explicit ScheduleMemo(std::size_t schedules = kSchedules);
  ~ScheduleMemo();
  ScheduleMemo(const ScheduleMemo&) = delete;
  ScheduleMemo& operator=(const ScheduleMemo&) = delete;

  // Of a schedule, from where all was decided to its end.
  struct Rest {
    loops::Program program;  // that it ends with, of any name
    bool kinds_hold = false;
    std::vector<Step> steps;
    std::map<std::string, std::string> layouts;  // of parameters, index maps
    std::set<std::string> follows;
  };
  using RestPointer = std::shared_ptr<const Rest>;
  // Null: it is not known.
  RestPointer find(const std::string& key);
  void keep(const std::string& key, Rest rest);

  // Schedules that were looked for, and those of them that were found.
  std::uint64_t asked() const;
  std::uint64_t found() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace dovetail::schedule
