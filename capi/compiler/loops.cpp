// Loop programs: written, scheduled, interpreted and compiled.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/bundle.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "compiler/schedule/schedule.h"
#include "driver/loop_program.h"

// Immutable, so that it needs no lock.
struct dvt_loops {
  dovetail::driver::LoopProgram program;
};

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

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
    DOVETAIL_ASSIGN(driver::LoopProgram program,
                    driver::LoopProgram::parse(text, text_or(given.name, "loop program"), machines));
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

}  // extern "C"
