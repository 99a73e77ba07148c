#include "compiler/schedule/keyed_task.h"

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"

namespace dovetail::schedule {

namespace {

// The complete text. All members of a row are named here, so that a new one does not compile until its text is added.
std::string text_of(const loops::Intrinsic& row) {
  const auto& [name, semantics, scopes, immediates, in_place, execution, completion, layouts] = row;
  std::string text = fmt::format("intrinsic {} {} {} scopes {} layouts {} immediates", name, loops::name(execution),
                                 loops::name(completion), fmt::join(scopes, ","), fmt::join(layouts, ";"));
  for (const loops::Var& immediate : immediates) text += " " + immediate->name;
  return fmt::format("{}{}\n{}\n", text, in_place ? " in place" : "", loops::to_string(semantics));
}

}  // namespace

struct KeyedTask::HashedText {
  std::size_t hash;
  std::string text;
};
// A text that several keys share, compared by what it says.
struct KeyedTask::SharedText {
  std::shared_ptr<const HashedText> of;
  std::strong_ordering operator<=>(const SharedText& other) const {
    if (of == other.of) return std::strong_ordering::equal;
    if (const auto order = of->hash <=> other.of->hash; order != 0) return order;
    return of->text <=> other.of->text;
  }
  bool operator==(const SharedText& other) const { return *this <=> other == 0; }
};

struct KeyedTask::Content {
  Task task;
  struct Key {
    std::string target, kind;
    SharedText program;
    Intent intent;
    std::vector<std::string> prepared;
    std::map<std::string, std::string> layouts;
    std::string facts;
    SharedText intrinsics;
    auto operator<=>(const Key&) const = default;
  } key;
};

// Nodes of a program never change, so that programs of the same nodes have the same text.
struct KeyedTask::TextOfProgram {
  std::string name;
  std::vector<std::pair<loops::Buffer, loops::ParameterRole>> parameters;
  std::vector<loops::Buffer> allocations;
  loops::Stmt body;
  auto operator<=>(const TextOfProgram&) const = default;

  using Answer = HashedText;
  static constexpr std::size_t kKept = 64;
  Result<Answer> answer() const {
    loops::Program program{name, {}, allocations, body};
    for (const auto& [buffer, role] : parameters) program.parameters.push_back({buffer, role});
    std::string text = loops::to_string(program);
    return Answer{std::hash<std::string>()(text), std::move(text)};
  }
};

struct KeyedTask::TextOfIntrinsics {
  std::shared_ptr<const loops::IntrinsicTable> table;
  auto operator<=>(const TextOfIntrinsics&) const = default;

  using Answer = HashedText;
  static constexpr std::size_t kKept = 16;
  Result<Answer> answer() const {
    std::string text;
    for (const loops::Intrinsic& row : *table) text += text_of(row);
    return Answer{std::hash<std::string>()(text), std::move(text)};
  }
};

struct KeyedTask::SameTask {
  std::shared_ptr<const Content> content;
  std::strong_ordering operator<=>(const SameTask& other) const { return content->key <=> other.content->key; }

  using Answer = std::shared_ptr<const Content>;
  static constexpr std::size_t kKept = 1024;
  Result<Answer> answer() const { return content; }
};

KeyedTask::KeyedTask(Task task, Memo& memo) {
  task.program.name = task.kind;
  // All members of a task are named here, so that a new one does not compile until it is part of the key.
  const auto& [target, kind, program, prepared, layouts, facts, intrinsics, intent] = task;
  const auto& [name, parameters, allocations, body] = program;
  TextOfProgram text{name, {}, allocations, body};
  for (const loops::Parameter& parameter : parameters) text.parameters.emplace_back(parameter.buffer, parameter.role);
  Content::Key key{target,   kind,    {*memo.ask(text)}, intent,
                   prepared, layouts, facts.dump(),      {*memo.ask(TextOfIntrinsics{intrinsics})}};
  content_ = **memo.ask(SameTask{std::make_shared<const Content>(Content{std::move(task), std::move(key)})});
}

const Task& KeyedTask::task() const { return content_->task; }

std::string KeyedTask::text() const {
  const auto& [target, kind, program, intent, prepared, layouts, facts, intrinsics] = content_->key;
  std::string text = fmt::format("task {} {}\n", target, kind);
  for (const std::string& step : prepared) text += fmt::format("prepared {}\n", step);
  for (const auto& [parameter, layout] : layouts) text += fmt::format("layout {} {}\n", parameter, layout);
  return fmt::format("{}machine {}\n{}{}start {} order {}{}\n", text, facts, intrinsics.of->text, program.of->text,
                     static_cast<int>(intent.start), static_cast<int>(intent.order),
                     intent.int4_weights ? " int4 weights" : "");
}

std::strong_ordering KeyedTask::operator<=>(const KeyedTask& other) const {
  return content_ == other.content_ ? std::strong_ordering::equal : content_->key <=> other.content_->key;
}

}  // namespace dovetail::schedule
