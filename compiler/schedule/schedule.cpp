#include "compiler/schedule/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/decisions.h"
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
                      "no such primitive exists", fmt::format("the primitives are {}", fmt::join(names, ", "))};
  }
  if (step.arguments.size() < primitive->min_arguments || step.arguments.size() > primitive->max_arguments)
    return Diagnostic{fmt::format("cannot apply `{}`", to_string(step)), "schedule",
                      fmt::format("{} takes {} to {} arguments, not {}", primitive->name, primitive->min_arguments,
                                  primitive->max_arguments, step.arguments.size()),
                      fmt::format("write `{}`", primitive->signature)};
  if (!step.results.empty() && step.results.size() != primitive->results)
    return Diagnostic{
        fmt::format("cannot apply `{}`", to_string(step)), "schedule",
        fmt::format("{} names {} results, not {}", primitive->name, primitive->results, step.results.size()),
        fmt::format("write `{}`", primitive->signature)};
  for (const auto* words : {&step.arguments, &step.results})
    for (const std::string& word : *words)
      if (word.empty() || word == "->" || word.find_first_of(" \t\r\n#") != std::string::npos)
        return Diagnostic{fmt::format("cannot apply {}", step.primitive), "schedule",
                          fmt::format("«{}» is not a word of a trace", word), "words hold no blanks and no #"};
  if (const loops::Block* irregular = irregular_block(program_.body))
    return Diagnostic{fmt::format("cannot apply `{}`", to_string(step)), "schedule",
                      fmt::format("block {} holds blocks in another form than blockize makes", irregular->name),
                      "let blocks hold blocks through serial loops alone, without init or inner predicate"};
  DOVETAIL_ASSIGN(Step resolved, resolve(step, trace_));
  DOVETAIL_ASSIGN(loops::Program result, primitive->apply(program_, resolved, *intrinsics_));
  step.results = resolved.results;
  if (step.primitive == "sample") step.arguments = resolved.arguments;  // with the decision
  if (auto broken = first_broken_kind(result, *intrinsics_); broken && !first_broken_kind(program_, *intrinsics_))
    return refuse(step.primitive, step.arguments[0],
                  fmt::format("it would break {}: {}", broken->loop, broken->conflict.why),
                  fmt::format("take this step before, or {}", broken->conflict.hint));
  program_ = std::move(result);
  trace_.push_back(std::move(step));
  return {};
}

Result<void> Schedule::replay(std::span<const Step> trace) {
  for (const Step& step : trace) DOVETAIL_TRY(apply(step));
  return {};
}

Schedule& Schedule::step(std::string primitive, std::vector<std::string> arguments, std::vector<std::string> results) {
  if (!errors_.empty()) return *this;
  if (auto status = apply({std::move(primitive), std::move(arguments), std::move(results)}); !status.ok())
    errors_ = status.errors();
  return *this;
}

Schedule& Schedule::split(const std::string& loop, std::int64_t factor, const std::string& outer,
                          const std::string& inner) {
  return step("split", {loop, std::to_string(factor)}, {outer, inner});
}
Schedule& Schedule::split(const std::string& loop, const std::string& factor, const std::string& outer,
                          const std::string& inner) {
  return step("split", {loop, factor}, {outer, inner});
}
Schedule& Schedule::fuse(const std::string& outer, const std::string& inner, const std::string& fused) {
  return step("fuse", {outer, inner}, {fused});
}
Schedule& Schedule::reorder(const std::vector<std::string>& loops) { return step("reorder", loops); }
Schedule& Schedule::unroll(const std::string& loop) { return step("unroll", {loop}); }
Schedule& Schedule::vectorize(const std::string& loop) { return step("vectorize", {loop}); }
Schedule& Schedule::parallel(const std::string& loop) { return step("parallel", {loop}); }
Schedule& Schedule::blockize(const std::string& loop, const std::string& block) {
  return step("blockize", {loop}, {block});
}
Schedule& Schedule::bind(const std::string& loop, const std::string& axis) { return step("bind", {loop, axis}); }
Schedule& Schedule::vthread(const std::string& loop) { return step("vthread", {loop}); }
Schedule& Schedule::pipeline(const std::string& loop, std::int64_t stages) {
  return step("pipeline", {loop, std::to_string(stages)});
}
Schedule& Schedule::compute_at(const std::string& block, const std::string& loop) {
  return step("compute_at", {block, loop});
}
Schedule& Schedule::reverse_compute_at(const std::string& block, const std::string& loop) {
  return step("reverse_compute_at", {block, loop});
}
Schedule& Schedule::inline_block(const std::string& block) { return step("inline", {block}); }
Schedule& Schedule::reverse_inline(const std::string& block) { return step("reverse_inline", {block}); }
Schedule& Schedule::cache_read(const std::string& block, const std::string& buffer, const std::string& scope,
                               const std::string& cached) {
  return step("cache_read", {block, buffer, scope}, {cached});
}
Schedule& Schedule::cache_write(const std::string& block, const std::string& buffer, const std::string& scope,
                                const std::string& cached) {
  return step("cache_write", {block, buffer, scope}, {cached});
}
Schedule& Schedule::reindex(const std::string& block, const std::string& buffer, const std::string& reindexed) {
  return step("reindex", {block, buffer}, {reindexed});
}
Schedule& Schedule::pad(const std::string& block, const std::string& iterator, std::int64_t multiple) {
  return step("pad", {block, iterator, std::to_string(multiple)});
}
Schedule& Schedule::rfactor(const std::string& block, const std::string& loop, const std::string& partial) {
  return step("rfactor", {block, loop}, {partial});
}
Schedule& Schedule::set_scope(const std::string& buffer, const std::string& scope) {
  return step("set_scope", {buffer, scope});
}
Schedule& Schedule::transform_layout(const std::string& buffer, const std::string& index_map) {
  return step("transform_layout", {buffer, index_map});
}
Schedule& Schedule::decompose_reduction(const std::string& block, const std::string& loop,
                                        const std::string& init_block) {
  return step("decompose_reduction", {block, loop}, {init_block});
}
Schedule& Schedule::tensorize(const std::string& loop, const std::string& intrinsic) {
  return step("tensorize", {loop, intrinsic});
}
Schedule& Schedule::annotate(const std::string& loop_or_block, const std::string& key, const std::string& value) {
  return step("annotate", {loop_or_block, key, value});
}

std::int64_t Schedule::sample(const std::string& name, const std::vector<std::int64_t>& candidates) {
  std::vector<std::string> arguments{name, "among", fmt::format("{}", fmt::join(candidates, ","))};
  if (const auto preset = presets_.find(name); preset != presets_.end())
    arguments.insert(arguments.end(), {"=", std::to_string(preset->second)});
  step("sample", std::move(arguments));
  return errors_.empty() ? decisions_of(trace_).back().value : 1;
}

}  // namespace dovetail::schedule
