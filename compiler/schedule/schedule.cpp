#include "compiler/schedule/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

const Primitive* find_primitive(std::string_view name) {
  for (const Primitive& primitive : all_primitives())
    if (primitive.name == name) return &primitive;
  return nullptr;
}

Schedule::Schedule(loops::Program program, const loops::IntrinsicTable& intrinsics)
    : program_(std::move(program)), intrinsics_(&intrinsics) {}

Result<void> Schedule::apply(Step step) {
  const Primitive* primitive = find_primitive(step.primitive);
  if (!primitive) {
    std::vector<std::string_view> names;
    for (const Primitive& row : all_primitives()) names.push_back(row.name);
    return Diagnostic{fmt::format("unknown schedule primitive {}", step.primitive), "schedule",
                      "there is no primitive of this name",
                      fmt::format("the primitives are {}", fmt::join(names, ", "))};
  }
  if (step.arguments.size() < primitive->min_arguments || step.arguments.size() > primitive->max_arguments)
    return Diagnostic{fmt::format("cannot apply `{}`", to_string(step)), "schedule",
                      fmt::format("{} needs {} arguments, not {}", primitive->name,
                                  primitive->min_arguments == primitive->max_arguments
                                      ? fmt::format("{}", primitive->min_arguments)
                                      : fmt::format("{} to {}", primitive->min_arguments, primitive->max_arguments),
                                  step.arguments.size()),
                      fmt::format("write `{}`", primitive->text)};
  if (!step.results.empty() && step.results.size() != primitive->results)
    return Diagnostic{
        fmt::format("cannot apply `{}`", to_string(step)), "schedule",
        fmt::format("{} has {} results, not {}", primitive->name, primitive->results, step.results.size()),
        fmt::format("write `{}`", primitive->text)};
  for (const auto* words : {&step.arguments, &step.results})
    for (const std::string& word : *words)
      if (word.empty() || word == "->" || word.find_first_of(" \t\r\n#") != std::string::npos)
        return Diagnostic{fmt::format("cannot apply {}", step.primitive), "schedule",
                          fmt::format("«{}» is not a word of a trace", word), "words must not contain blanks or #"};
  if (const loops::Block* irregular = irregular_block(program_.body))
    return Diagnostic{
        fmt::format("cannot apply `{}`", to_string(step)), "schedule",
        fmt::format("block {} contains blocks in a form that blockize does not generate", irregular->name),
        "nest blocks only inside serial loops, without init or inner predicate"};
  DOVETAIL_ASSIGN(Step resolved, resolve(step, decisions_));
  DOVETAIL_ASSIGN(loops::Program result, primitive->apply(program_, resolved, *intrinsics_));
  // Fills in the omitted words of a step: names of results, and optional arguments.
  step.results = resolved.results;
  step.arguments.insert(step.arguments.end(),
                        resolved.arguments.begin() + static_cast<std::ptrdiff_t>(step.arguments.size()),
                        resolved.arguments.end());
  // Slots do not change loops and accesses, and the step has proven its own.
  const bool holds = kinds_hold_ && primitive->name == kSlots;
  auto broken = holds ? std::nullopt : first_broken_kind(result, *intrinsics_);
  if (broken && (kinds_hold_ || !first_broken_kind(program_, *intrinsics_)))
    return refuse(step.primitive, step.arguments[0],
                  fmt::format("the step would invalidate {}: {}", broken->loop, broken->conflict.why),
                  fmt::format("apply this step earlier, or {}", broken->conflict.hint));
  kinds_hold_ = !broken;
  program_ = std::move(result);
  if (auto decision = decision_of(resolved)) decisions_.push_back(*std::move(decision));
  trace_.push_back(std::move(step));
  return {};
}

KeptSteps Schedule::kept() const {
  DOVETAIL_CHECK(decisions_.empty(), "steps that are kept decide nothing");
  return {program_, kinds_hold_, trace_, {}, {}};
}

void Schedule::take(const KeptSteps& kept) {
  std::string name = std::move(program_.name);
  program_ = kept.program;
  program_.name = std::move(name);
  kinds_hold_ = kept.kinds_hold;
  trace_.insert(trace_.end(), kept.steps.begin(), kept.steps.end());
}

Result<void> Schedule::replay(std::span<const Step> trace) {
  for (const Step& step : trace) DOVETAIL_TRY(apply(step));
  return {};
}

Schedule& Schedule::step(const Form& form, const std::vector<std::vector<std::string>>& values) {
  if (!errors_.empty()) return *this;
  Step step{std::string(form.name), {}, {}};
  for (const std::vector<std::string>& words : values)
    step.arguments.insert(step.arguments.end(), words.begin(), words.end());
  const auto results = step.arguments.end() - static_cast<std::ptrdiff_t>(form.results);
  step.results.assign(results, step.arguments.end());
  step.arguments.erase(results, step.arguments.end());
  if (auto status = apply(std::move(step)); !status.ok()) errors_ = status.errors();
  return *this;
}

void Schedule::fail(Diagnostics errors) {
  if (errors_.empty()) errors_ = std::move(errors);
}

}  // namespace dovetail::schedule
