// Loop programs: written, scheduled, interpreted, compiled and tuned.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/bundle.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/report/kernel_report.h"
#include "compiler/schedule/schedule.h"
#include "driver/kernels/legal_steps.h"
#include "driver/kernels/tune.h"
#include "driver/loop_counts.h"
#include "driver/loop_program.h"

// Immutable, so that it needs no lock.
struct dvt_loops {
  dovetail::driver::LoopProgram program;
};

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

namespace {

// "n=128,m=64"; empty: none.
Result<loops::Sizes> sizes_of(std::string_view text) {
  loops::Sizes sizes;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    std::int64_t value = -1;
    const char* const end = one.data() + one.size();
    const bool is_number =
        equals != one.npos && std::from_chars(one.data() + equals + 1, end, value) == std::from_chars_result{end, {}};
    if (!is_number || equals == 0 || value < 0)
      return Diagnostic{"invalid sizes", std::string(one), "it is not NAME=NUMBER", "write n=128,m=64"};
    if (!sizes.emplace(one.substr(0, equals), value).second)
      return Diagnostic{"invalid sizes", std::string(one), "the size is given twice", "give it once"};
  }
  return sizes;
}

}  // namespace

extern "C" {

dvt_status* dvt_primitives(char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_primitives: json"));
    *json = nullptr;
    Json rows = Json::array();
    for (const schedule::Primitive& primitive : schedule::all_primitives())
      rows.push_back({{"name", primitive.name}, {"form", primitive.text}});
    *json = owned_json(rows);
    return {};
  });
}

dvt_status* dvt_loops_parse(const char* text, const dvt_loops_options* options, dvt_loops** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_loops_parse: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(text, "dvt_loops_parse: text"));
    DOVETAIL_ASSIGN(const dvt_loops_options given, options_of(options, "dvt_loops_parse: options"));
    driver::LoopMachines machines;
    if (given.hardware != nullptr) machines.hardware = given.hardware;
    machines.cpu = text_or(given.cpu, machines.cpu);
    DOVETAIL_ASSIGN(const loops::Sizes sizes, sizes_of(text_or(given.sizes, "")));
    DOVETAIL_ASSIGN(driver::LoopProgram program,
                    driver::LoopProgram::parse(text, text_or(given.name, "loop program"), machines, sizes));
    *out = new dvt_loops{std::move(program)};
    return {};
  });
}

void dvt_loops_free(dvt_loops* loops) { delete loops; }

dvt_status* dvt_loops_apply(const dvt_loops* loops, const char* steps, dvt_loops** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_loops_apply: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_apply: loops"));
    DOVETAIL_TRY(require(steps, "dvt_loops_apply: steps"));
    auto after = std::make_unique<dvt_loops>(*loops);
    DOVETAIL_TRY(after->program.apply(steps));
    *out = after.release();
    return {};
  });
}

dvt_status* dvt_loops_describe(const dvt_loops* loops, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_loops_describe: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_describe: loops"));
    *json = owned_json(loops->program.to_json());
    return {};
  });
}

dvt_status* dvt_loops_run(const dvt_loops* loops, const dvt_named_tensor* inputs, size_t count,
                          const dvt_callbacks* callbacks, dvt_tensors** outputs) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(outputs, "dvt_loops_run: outputs"));
    *outputs = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_run: loops"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_loops_run: inputs"));
    DOVETAIL_ASSIGN(const Callbacks calls, Callbacks::of(callbacks, "dvt_loops_run: callbacks"));
    Work work;
    const Watched watched(calls, &work, loops->program.program().name);
    DOVETAIL_ASSIGN(auto arrays_out, loops->program.run(arrays, &work));
    DOVETAIL_ASSIGN(*outputs, tensors_of(std::move(arrays_out), calls));
    return {};
  });
}

dvt_status* dvt_loops_compile(const dvt_loops* loops, const dvt_loops_compile_options* options, dvt_bundle** out,
                              char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_loops_compile: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_compile: loops"));
    DOVETAIL_ASSIGN(const dvt_loops_compile_options given, options_of(options, "dvt_loops_compile: options"));
    DOVETAIL_TRY(require(given.target, "dvt_loops_compile: options, target"));
    DOVETAIL_ASSIGN(const Callbacks callbacks, Callbacks::of(given.callbacks, "dvt_loops_compile: options, callbacks"));
    DOVETAIL_ASSIGN(driver::LoopProgram::Compiled compiled,
                    loops->program.compile(given.target, given.check_bounds != 0, callbacks.report_progress()));
    give_json(json, compiled.report);
    DOVETAIL_ASSIGN(const std::shared_ptr<LoadedBundle> loaded,
                    checked(std::move(compiled.bundle), loops->program.program().name));
    loaded->made_here = true;
    *out = new dvt_bundle{loaded};
    return {};
  });
}

dvt_status* dvt_loops_suggest(const dvt_loops* loops, const char* name, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_loops_suggest: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_suggest: loops"));
    DOVETAIL_TRY(require(name, "dvt_loops_suggest: name"));
    DOVETAIL_ASSIGN(const auto suggestions, driver::suggest(loops->program, name));
    Json rows = Json::array();
    for (const driver::Suggestion& each : suggestions)
      rows.push_back({{"step", each.step}, {"counts", driver::to_json(each.counts)}});
    *json = owned_json(rows);
    return {};
  });
}

dvt_status* dvt_loops_tune(const dvt_loops* loops, const dvt_named_tensor* inputs, size_t count,
                           const dvt_loops_tune_options* options, dvt_loops** out, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_loops_tune: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(loops, "dvt_loops_tune: loops"));
    DOVETAIL_ASSIGN(const dvt_loops_tune_options given, options_of(options, "dvt_loops_tune: options"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_loops_tune: inputs"));
    DOVETAIL_ASSIGN(const Callbacks callbacks, Callbacks::of(given.callbacks, "dvt_loops_tune: options, callbacks"));
    driver::TuneLoopsOptions tuning;
    DOVETAIL_TRY(check_value(given.trials, 0, 1'000'000, "dvt_loops_tune: options, trials"));
    DOVETAIL_TRY(check_value(given.threads, 0, 1024, "dvt_loops_tune: options, threads"));
    tuning.target = text_or(given.target, tuning.target);
    tuning.search = text_or(given.search, tuning.search);
    if (given.trials > 0) tuning.trials = given.trials;
    if (given.threads > 0) tuning.threads = given.threads;
    if (given.seed != 0) tuning.seed = given.seed;
    Work work;
    tuning.work = &work;
    tuning.on_progress = [&](const tune::Progress& now) { callbacks.progress("trials", now.trials, now.most_trials); };
    const Watched watched(callbacks.without_progress(), &work, loops->program.program().name);
    driver::LoopProgram best = loops->program.unscheduled();
    DOVETAIL_ASSIGN(const driver::TunedLoops tuned,
                    driver::tune_loops(best, loops->program.schedule().trace(), arrays, tuning));
    DOVETAIL_TRY(best.apply(tuned.schedule));
    give_json(json, cli::kernel_tuning_json(tuned, tuning.target, driver::count_loops(best.written()).operations));
    *out = new dvt_loops{std::move(best)};
    return {};
  });
}

}  // extern "C"
