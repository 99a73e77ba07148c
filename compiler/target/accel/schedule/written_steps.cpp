#include "compiler/target/accel/schedule/written_steps.h"

#include <utility>

#include "compiler/schedule/context.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/schedule/steps.h"

namespace dovetail::accel {

namespace {

// A key that is equal for programs of the same kind with the same blocks and buffers.
std::string form_of(const schedule::Task& task) {
  std::string text = task.kind;
  for (const schedule::Path& path : schedule::blocks_below(task.program.body))
    text += " " + schedule::as_block(path.back())->name;
  for (const loops::Parameter& parameter : task.program.parameters) text += " " + parameter.buffer->name;
  for (const loops::Buffer& buffer : task.program.allocations) text += " " + buffer->name;
  return text;
}

}  // namespace

schedule::KeyedTask task_of_steps(schedule::Task task, Memo& memo) {
  task.facts = Json::object();
  task.intent.start = {};
  task.intent.int4_weights = false;
  return schedule::KeyedTask(std::move(task), memo);
}

Result<WrittenSteps::Answer> WrittenSteps::answer() const {
  schedule::Context context(task.task());
  Steps steps(context, *this);
  kind_named(task.task().kind).write(steps);
  DOVETAIL_TRY(context.s.status());
  return Answer{context.kept(), std::move(steps.slotted_inputs), std::move(steps.slotted_weights)};
}

TilePlaces::TilePlaces(schedule::KeyedTask task, const BlockSizes& sizes)
    : smallest_{std::move(task), sizes, false, {}, {}}, form_(form_of(smallest_.task.task())) {}

std::strong_ordering TilePlaces::operator<=>(const TilePlaces& other) const {
  if (const auto order = smallest_.sizes <=> other.smallest_.sizes; order != 0) return order;
  return form_ <=> other.form_;
}

Result<TilePlaces::Answer> TilePlaces::answer() const {
  DOVETAIL_ASSIGN(const WrittenSteps::Answer written, smallest_.answer());
  const schedule::Task& task = smallest_.task.task();
  const loops::Program& scheduled = written.steps.program;
  DOVETAIL_ASSIGN(const Placements places, find_places(scheduled, *task.intrinsics, smallest_.sizes));
  return on_chip_places(task.program, scheduled, places);
}

}  // namespace dovetail::accel
