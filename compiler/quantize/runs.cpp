#include "compiler/quantize/runs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/saturating.h"

namespace dovetail::quantize {
namespace {

Json to_json(const std::vector<Sum>& sums) {
  Json json = Json::object();
  for (const Sum& sum : sums)
    if (sum.samples > 0) json[sum.name] = {{"samples", sum.samples}, {"sum", sum.to_json()}};
  return json;
}

// If stored sums are missing or invalid, work begins with the first sample.
void restore(std::vector<Sum>& sums, const Json& kept, std::int64_t most) {
  for (Sum& sum : sums) {
    const auto row = kept.find(sum.name);
    if (row == kept.end()) continue;
    try {
      const std::int64_t samples = row->at("samples");
      if (samples < 1 || samples > most) continue;
      sum.from_json(row->at("sum"));
      sum.samples = samples;
    } catch (const Json::exception&) {
      continue;
    }
  }
}

// NaN is rejected: it has no place in a range, so a layer would be quantized for the other values only.
Result<void> check_sample(const Values& inputs, std::int64_t sample, const std::string& model) {
  for (const auto& [name, values] : inputs) {
    if (values.dtype() != DType::float32) continue;
    const auto elements = values.data<float>();
    const auto found = std::ranges::find_if(elements, [](float value) { return std::isnan(value); });
    if (found != elements.end())
      return Diagnostic{"cannot quantize " + model, fmt::format("sample {}, input {}", sample, name),
                        fmt::format("element {} is NaN", found - elements.begin()),
                        "remove the sample, or fix the program that makes the samples"};
  }
  return {};
}

}  // namespace

Result<void> Runs::report(std::string_view part, Step step, const std::function<Json()>& sums) const {
  if (!progress_) return {};
  step.what = part;
  step.part = static_cast<int>(std::ranges::find(parts_, part) - parts_.begin());
  step.parts = static_cast<int>(parts_.size());
  Result<void> reported = progress_(step);
  if (!reported.ok()) DOVETAIL_TRY(keep(part, sums));
  return reported;
}

Result<void> Runs::sum(std::string_view part, std::vector<Sum>& sums, const std::string& model,
                       const std::function<std::uint64_t(Range)>& bytes_of, const MakeRun& make) const {
  DOVETAIL_ASSIGN(const std::vector<Range> ranges,
                  ranges_within(budget_, sums.size(), bytes_of, model, std::string(part)));
  if (const Json known = kept(part); known.is_object()) restore(sums, known, samples_.count);
  const auto of = [&](Range range) { return std::span(sums).subspan(range.begin, range.end - range.begin); };
  const auto first_sample = [&](Range range) { return std::ranges::min(of(range), {}, &Sum::samples).samples; };
  Step step{.all = static_cast<std::int64_t>(ranges.size()) * samples_.count};
  for (const Range range : ranges) step.done += first_sample(range);
  const std::function<Json()> all = [&] { return to_json(sums); };
  for (const Range range : ranges) {
    const std::int64_t first = first_sample(range);
    if (first == samples_.count) continue;
    step.bytes = saturating_sum(budget_.used, bytes_of(range));
    step.compiling = true;
    DOVETAIL_TRY(report(part, step, all));
    step.compiling = false;
    DOVETAIL_ASSIGN(const Run run, make(range));
    for (std::int64_t sample = first; sample < samples_.count; ++sample, ++step.done) {
      DOVETAIL_TRY(report(part, step, all));
      const Values inputs = samples_.at(sample);  // add() may read them
      DOVETAIL_TRY(check_sample(inputs, sample, model));
      DOVETAIL_TRY(run(inputs));
      for (Sum& sum : of(range)) {
        if (sum.samples != sample) continue;
        DOVETAIL_TRY(sum.add());
        ++sum.samples;
      }
      DOVETAIL_TRY(keep(part, all));
    }
  }
  return {};
}

}  // namespace dovetail::quantize
