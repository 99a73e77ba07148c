// A model or a bundle, with what runs it: targets, system, engine, threads. Commands use it, and other
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
// Errors are of Cause::input where what was asked for is not in order, and of Cause::work where it is, and compiling or
// running failed.
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
#include "driver/reference_check.h"
#include "driver/tensor_files.h"
#include "driver/timed_program.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct SessionOptions {
  ModelOptions model = {};            // of a bundle, path, hardware, system and threads alone count
  std::string engine = "functional";  // runs the accelerator's programs; runtime::engines() lists them
  // Of an engine with a clock: what it records. Memory, accelerators and work are those of the session.
  simulator::EngineOptions engine_options = {};
  std::uint64_t seed = 1;  // of inputs that are not given
  bool trusted = false;    // the machine code of a bundle that this user's compiler has not written may run
  Work* work = nullptr;    // watches runs, and may stop them (base/work.h); outlives the session
};

class Session {
 public:
  // Reads a bundle and checks its code; of a model, resolves system and engine alone.
  static Result<Session> open(SessionOptions options);

  bool is_bundle() const { return is_bundle_; }
  const SessionOptions& options() const { return options_; }
  const System& system() const { return system_; }
  // As runs use them.
  const simulator::EngineOptions& engine_options() const { return options_.engine_options; }
  const runtime::MakeSimulator& make_simulator() const { return make_simulator_; }
  int threads() const;  // that run kernels

  // Compiles the model; of a bundle there is nothing to do. What follows takes a session that is compiled.
  Result<void> compile(CompileOptions options = {});
  const CompiledModel* model() const { return model_ ? &*model_ : nullptr; }  // null: a bundle
  const bundle::Bundle& bundle() const { return model_ ? model_->compiled.bundle : bundle_; }

  // Inputs from files, and of the seed (gather_inputs).
  Result<RunInputs> inputs(const std::map<std::string, std::string>& files = {}, Rows rows = Rows::as_taken,
                           const std::optional<Preprocess>& preprocess = std::nullopt) const;

  // Makes devices ready for the bundle; the first run does it too.
  Result<void> make_ready();
  Result<runtime::RunResult> run(const std::map<std::string, NdArray>& inputs, const runtime::RunOptions& options = {});
  // Precondition: make_ready() was called, or run().
  runtime::Executor& executor() { return *executor_; }
  // What ran last; before the first run, what is to run first.
  const bundle::Bundle& program() const { return executor_ ? executor_->program() : bundle(); }

  // The accelerator's steps of a run, where the engine has a clock; `ask_what_if` times each on other hardware too.
  Result<std::vector<TimedProgram>> timed_programs(const runtime::RunResult& run, bool ask_what_if) const;

  // The run, which kept its tensors, against the reference (check_against_reference); adds to it the tensors that are
  // stored in their own layout, under the names of the values. Error, among others: there is no graph, as in a bundle.
  Result<ReferenceCheck> check(const std::map<std::string, NdArray>& inputs, runtime::RunResult& run) const;

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
