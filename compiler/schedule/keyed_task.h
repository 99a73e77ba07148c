// Tasks by value: two are equal where all is equal that their schedules follow from. Keys of what is kept of schedules.
#pragma once

#include <compare>
#include <memory>
#include <string>

#include "base/memo.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

class KeyedTask {
 public:
  // `memo`: equal tasks that it keeps are one object.
  KeyedTask(Task task, Memo& memo);

  // The program has the name of the kind: its own one is not part of the task.
  const Task& task() const;
  // All that tasks are compared by; the program and the intent last.
  std::string text() const;

  std::strong_ordering operator<=>(const KeyedTask& other) const;
  bool operator==(const KeyedTask& other) const { return *this <=> other == 0; }

 private:
  struct HashedText;
  struct SharedText;
  struct Content;
  struct TextOfProgram;
  struct TextOfIntrinsics;
  struct SameTask;

  std::shared_ptr<const Content> content_;
};

}  // namespace dovetail::schedule
