// Tasks compared by value: two are equal if everything that determines their schedules is equal. Used as keys of cached
// schedules.
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

  // The program is named after the kind: its original name is not part of the key.
  const Task& task() const;
  // Everything by which tasks are compared; the program and the intent last.
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
