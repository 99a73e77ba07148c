// A model or a bundle, with the targets, system, engine and threads that run it. Commands use it, and other
// programs may: it takes and returns values, prints nothing, and one process may have several sessions.
//
//   SessionOptions options;
//   options.model.path = "digits_int8.onnx";
//   options.model.targets = {"accel", "cpu"};
//   DOVETAIL_ASSIGN(Session session, Session::open(std::move(options)));
//   DOVETAIL_TRY(session.compile());
//   DOVETAIL_ASSIGN(const RunInputs inputs, session.inputs({{"x", "x.npy"}}));
//   DOVETAIL_ASSIGN(const runtime::RunResult result, session.run(inputs.tensors));
//
// Errors have Cause::input if the options or files are invalid, Cause::request if the model does not allow what the
// options ask for, and Cause::work if they are valid, but compiling or running failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "driver/compile_model.h"
#include "driver/preprocess.h"
#include "driver/tensor_files.h"
#include "driver/timed_program.h"
#include "explore/check/reference_check.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct SessionOptions {
  ModelOptions model = {};            // for a bundle, only path, hardware, system and threads are used
  std::string engine = "functional";  // runs the accelerator's programs; runtime::engines() lists them
  // What an engine with a clock records. Memory, accelerators and work are those of the session.
  simulator::EngineOptions engine_options = {};
  std::uint64_t seed = 1;  // seed of inputs that are not given
  bool trusted = false;    // machine code of a bundle that this user's compiler did not write may run
  Work* work = nullptr;    // watches runs, and may stop them (base/work.h); outlives the session
};

class Session {
 public:
  // Reads a bundle and checks its code; for a model, only resolves system and engine.
  static Result<Session> open(SessionOptions options);

  bool is_bundle() const { return is_bundle_; }
  const SessionOptions& options() const { return options_; }
  const System& system() const { return system_; }
  // The options that runs use.
  const simulator::EngineOptions& engine_options() const { return options_.engine_options; }
  const runtime::MakeSimulator& make_simulator() const { return make_simulator_; }
  int threads() const;  // threads that run kernels

  // Compiles the model; no effect on a bundle. The functions below need a compiled session.
  Result<void> compile(CompileOptions options = {});
  const CompiledModel* model() const { return model_ ? &*model_ : nullptr; }  // null: a bundle
  const bundle::Bundle& bundle() const { return model_ ? model_->compiled.bundle : bundle_; }

  // Inputs from files, and random inputs from the seed (gather_inputs).
  Result<RunInputs> inputs(const std::map<std::string, std::string>& files = {}, Rows rows = Rows::as_taken,
                           const std::optional<Preprocess>& preprocess = std::nullopt) const;

  // Makes devices ready for the bundle; the first run does it too.
  Result<void> make_ready();
  Result<runtime::RunResult> run(const std::map<std::string, NdArray>& inputs, const runtime::RunOptions& options = {});
  // Precondition: make_ready() was called, or run().
  runtime::Executor& executor() { return *executor_; }
  // The program that ran last; before the first run, the program that will run first.
  const bundle::Bundle& program() const { return executor_ ? executor_->program() : bundle(); }

  // The accelerator's steps of a run, if the engine has a clock; with `ask_what_if` also their time on other hardware.
  Result<std::vector<TimedProgram>> timed_programs(const runtime::RunResult& run, bool ask_what_if) const;

  // By how much floats of the program may differ from the reference's, relative to a tensor's largest magnitude.
  // Precondition: model() is not null.
  double float_tolerance() const;
  // Compares the run, which kept its tensors, with the reference (check_against_reference). Adds to the run the tensors
  // that are stored in their own layout, under the names of the values. Errors include: a bundle has no graph.
  Result<explore::ReferenceCheck> check(const std::map<std::string, NdArray>& inputs, runtime::RunResult& run) const;

 private:
  Session(SessionOptions options, bool is_bundle) : options_(std::move(options)), is_bundle_(is_bundle) {}

  SessionOptions options_;
  bool is_bundle_;
  System system_;
  runtime::MakeSimulator make_simulator_;
  bundle::Bundle bundle_;  // as read
  std::optional<CompiledModel> model_;
  std::optional<runtime::Executor> executor_;
};

}  // namespace dovetail::driver
