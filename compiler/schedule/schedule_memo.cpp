#include "compiler/schedule/schedule_memo.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"

namespace dovetail::schedule {

std::string text_of(const loops::IntrinsicTable& intrinsics) {
  std::string text;
  for (const loops::Intrinsic& row : intrinsics) {
    text += fmt::format("intrinsic {} {} {} scopes {} layouts {} immediates", row.name, name(row.execution),
                        name(row.completion), fmt::join(row.scopes, ","), fmt::join(row.layouts, ";"));
    for (const loops::Var& immediate : row.immediates) text += " " + immediate->name;
    text += fmt::format("{}\n{}\n", row.in_place ? " in place" : "", loops::to_string(row.semantics));
  }
  return text;
}

struct ScheduleMemo::Store {
  using Schedules = std::unordered_map<std::string, RestPointer>;

  explicit Store(std::size_t most) : most_schedules(most) {}

  void add(const std::string& key, RestPointer rest) {
    if (young.size() >= most_schedules) old = std::exchange(young, {});
    young.insert_or_assign(key, std::move(rest));
  }

  const std::size_t most_schedules;  // of a generation
  mutable std::mutex mutex;
  std::uint64_t asked = 0, found = 0;
  // What was used since the last time that there were too many; the generation before it is older.
  Schedules young, old;
};

ScheduleMemo::ScheduleMemo(std::size_t schedules) : store_(std::make_unique<Store>(schedules)) {}
ScheduleMemo::~ScheduleMemo() = default;

ScheduleMemo::RestPointer ScheduleMemo::find(const std::string& key) {
  const std::lock_guard lock(store_->mutex);
  ++store_->asked;
  if (const auto known = store_->young.find(key); known != store_->young.end()) {
    ++store_->found;
    return known->second;
  }
  const auto known = store_->old.find(key);
  if (known == store_->old.end()) return nullptr;
  ++store_->found;
  const RestPointer rest = known->second;
  store_->add(key, rest);
  return rest;
}

void ScheduleMemo::keep(const std::string& key, Rest rest) {
  auto kept = std::make_shared<const Rest>(std::move(rest));
  const std::lock_guard lock(store_->mutex);
  store_->add(key, std::move(kept));
}

std::uint64_t ScheduleMemo::asked() const {
  const std::lock_guard lock(store_->mutex);
  return store_->asked;
}
std::uint64_t ScheduleMemo::found() const {
  const std::lock_guard lock(store_->mutex);
  return store_->found;
}

}  // namespace dovetail::schedule
