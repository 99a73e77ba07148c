// What a kernel's schedules are made for: all that decides which schedules are legal, and what one is worth. A task and
// a trace make a program, on every target: whatever changes the operator's program before the first step was done when
// the task was made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compiler/schedule/schedule_memo.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

struct Task {
  std::string target, kind;  // "cpu", "convolution": whose sketch writes its schedules
  loops::Program program;    // its name is for people, and no part of the key
  // What was done to the operator's program, in words: "shift_activations conv 4". What it rests on, such as bounds of
  // constants, is thereby in the program.
  std::vector<std::string> prepared = {};
  std::map<std::string, std::string> layouts = {};  // index maps that are asked for, by parameter; none: as it is
  Json facts = Json::object();                      // of the machine, as far as schedules depend on them
  std::shared_ptr<const loops::IntrinsicTable> intrinsics = std::make_shared<loops::IntrinsicTable>();

  // Where schedules are kept, and what distinguishes this task from others there, its facts left out; null: nowhere.
  // No part of the task.
  std::shared_ptr<ScheduleMemo> memo = nullptr;
  std::string kept_as = {};
};

// Has schedules of the task be kept in `memo`, and taken from it. `intrinsics`: text_of() the task's.
void keep_schedules(Task& task, std::shared_ptr<ScheduleMemo> memo, std::string_view intrinsics);

// All of it in lines of text, the program last.
std::string to_string(const Task& task);

// Sixteen hexadecimal digits, a hash of that text without the program's name: equal for equal kernels of one or several
// models.
std::string key(const Task& task);

}  // namespace dovetail::schedule
