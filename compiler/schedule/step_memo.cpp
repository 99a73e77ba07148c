#include "compiler/schedule/step_memo.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"

namespace dovetail::schedule {

namespace {

std::string key_of(const StepMemo::State& from, const Step& step) {
  return fmt::format("{} {}", from.id, to_string(step));
}

}  // namespace

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

struct StepMemo::Store {
  // What was used since the last time that there were too many states; the generation before it is older.
  struct Generation {
    std::size_t states = 0;
    std::unordered_map<std::string, StatePointer> roots;  // by text
    std::unordered_map<std::string, Outcome> outcomes;    // by state and step
  };

  explicit Store(std::size_t most) : most_states(most) {}

  // Of all that follows under the mutex.
  template <typename Value>
  const Value* find(std::unordered_map<std::string, Value> Generation::*map, const std::string& key) {
    if (const auto known = (young.*map).find(key); known != (young.*map).end()) return &known->second;
    const auto known = (old.*map).find(key);
    if (known == (old.*map).end()) return nullptr;
    return &add(map, key, Value(known->second));
  }
  template <typename Value>
  const Value& add(std::unordered_map<std::string, Value> Generation::*map, const std::string& key, Value value) {
    if (++young.states > most_states) {
      old = std::move(young);
      young = {};
      young.states = 1;
    }
    return (young.*map).insert_or_assign(key, std::move(value)).first->second;
  }
  StatePointer make_state(loops::Program program, bool kinds_hold) {
    return std::make_shared<const State>(State{next_id++, std::move(program), kinds_hold});
  }

  const std::size_t most_states;  // of a generation
  std::mutex mutex;
  std::uint64_t asked = 0, found = 0;
  std::uint64_t next_id = 0;  // never given again, so that what was forgotten meets nothing
  Generation young, old;
};

StepMemo::StepMemo(std::size_t states) : store_(std::make_unique<Store>(states)) {}
StepMemo::~StepMemo() = default;

StepMemo::StatePointer StepMemo::begin(const loops::Program& program, std::string_view intrinsics) {
  const std::string text = loops::to_string(program).append(intrinsics);
  const std::lock_guard lock(store_->mutex);
  if (const StatePointer* known = store_->find(&Store::Generation::roots, text)) return *known;
  return store_->add(&Store::Generation::roots, text, store_->make_state(program, false));
}

std::optional<StepMemo::Outcome> StepMemo::find(const State& from, const Step& step) {
  const std::string key = key_of(from, step);
  const std::lock_guard lock(store_->mutex);
  ++store_->asked;
  const Outcome* known = store_->find(&Store::Generation::outcomes, key);
  if (known == nullptr) return std::nullopt;
  ++store_->found;
  return *known;
}

StepMemo::Outcome StepMemo::keep(const State& from, const Step& step, Step done, loops::Program program,
                                 bool kinds_hold) {
  const std::string key = key_of(from, step);
  const std::lock_guard lock(store_->mutex);
  if (const Outcome* known = store_->find(&Store::Generation::outcomes, key)) return *known;
  Outcome outcome{std::move(done), store_->make_state(std::move(program), kinds_hold)};
  return store_->add(&Store::Generation::outcomes, key, std::move(outcome));
}

void StepMemo::keep_refusal(const State& from, const Step& step, const Diagnostics& errors) {
  const std::string key = key_of(from, step);
  const std::lock_guard lock(store_->mutex);
  store_->add(&Store::Generation::outcomes, key, Outcome{step, nullptr, errors});
}

std::uint64_t StepMemo::asked() const {
  const std::lock_guard lock(store_->mutex);
  return store_->asked;
}
std::uint64_t StepMemo::found() const {
  const std::lock_guard lock(store_->mutex);
  return store_->found;
}

}  // namespace dovetail::schedule
