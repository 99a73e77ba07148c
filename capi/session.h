// A session that a caller holds.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "capi/bundle.h"
#include "capi/callbacks.h"
#include "capi/include/dovetail.h"
#include "capi/own_target.h"
#include "capi/tensor.h"
#include "driver/system.h"
#include "runtime/executor.h"
#include "simulator/engine_options.h"

namespace dovetail::capi {

// The options of a session, checked.
struct SessionSettings {
  std::string engine = "functional";
  int threads = 0;  // as ExecutorOptions::threads
  driver::SystemChanges system = {};
  Callbacks callbacks = {};
  OwnTargets own_targets = {};
};
Result<SessionSettings> settings_of(const dvt_session_options* given, std::string_view argument);

using Inputs = std::map<std::string, NdArray>;

// Runs a bundle. Its functions run one after the other.
class Session {
 public:
  static Result<std::unique_ptr<Session>> make(std::shared_ptr<const LoadedBundle> loaded, SessionSettings settings);

  const LoadedBundle& loaded() const { return *loaded_; }
  const driver::System& system() const { return system_; }
  const SessionSettings& settings() const { return settings_; }

  enum class Keep { nothing, states };  // what is after the run as it was before
  Result<runtime::RunResult> run(const Inputs& inputs, const runtime::RunOptions& options = {},
                                 Keep keep = Keep::nothing);
  // What the next run reads, by input.
  Result<std::vector<std::pair<std::string, NdArray>>> states() const;
  // Those that are not given are zeros.
  Result<void> set_states(const Inputs& values);
  // The run's outputs, in the bundle's order.
  std::vector<std::pair<std::string, NdArray>> outputs_of(runtime::RunResult& result) const;

  Result<void> bind(bool input, const std::string& name, const DLTensor* tensor, std::string_view argument);
  Result<void> run_bound();
  // A call of the C interface in progress, which stop() ends.
  class Call {
   public:
    explicit Call(Session& session);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Session& session_;
  };
  // Stops all calls in progress, from any thread.
  void stop();
  // Work of a call, which stop() and a watching caller may end.
  class Running {
   public:
    Running(Session& session, Work& work, std::string what);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Session& session_;
    Work& work_;
    std::optional<Watched> watched_;
  };

  Result<Json> report() const;
  Result<Json> profile(const Inputs& inputs, std::int64_t repeat);

  using UseRun = std::function<Result<void>(const bundle::Bundle& program, const runtime::RunResult& run,
                                            const simulator::EngineOptions& options)>;
  // Runs with the events of every launch, and calls `use` under the lock. Error: the engine has no clock.
  Result<void> trace(const Inputs& inputs, const UseRun& use);

  // Calls `use` with the steps of the last run, under the lock. Error: none ran.
  Result<void> with_last_run(
      const std::function<Result<void>(const bundle::Bundle& program, const runtime::RunResult& run)>& use) const;

 private:
  struct Bound {
    View view;
    AlignedBytes aligned;  // a copy of an input whose address does not suit kernels
  };

  // Sets the states again as they were. Its life is under the lock.
  class KeptStates {
   public:
    KeptStates(Session& session, bool keeps);
    ~KeptStates();
    KeptStates(const KeptStates&) = delete;
    KeptStates& operator=(const KeptStates&) = delete;

   private:
    Session& session_;
    std::optional<std::map<std::string, NdArray>> values_;
  };

  Session(std::shared_ptr<const LoadedBundle> loaded, SessionSettings settings)
      : loaded_(std::move(loaded)), settings_(std::move(settings)) {}
  // After a stopped run, drops the executor and its Work, since a stopped Work stays stopped; the next run creates new
  // ones.
  void drop_stopped();
  void drop_executor();  // keeps its states for the next one
  Result<std::map<std::string, NdArray>> states_now() const;
  // Error: the caller has stopped this call.
  Result<void> may_run();
  Result<void> make_ready();
  Result<runtime::RunResult> run_locked(const Inputs& inputs, const runtime::RunOptions& options);
  Json steps_json(const std::vector<runtime::StepProfile>& steps) const;

  std::shared_ptr<const LoadedBundle> loaded_;
  SessionSettings settings_;
  driver::System system_;
  simulator::EngineOptions engine_options_;

  mutable std::mutex mutex_;  // protects the following members
  std::unique_ptr<Work> work_;
  std::optional<runtime::Executor> executor_;
  std::map<std::string, NdArray> states_;   // while there is no executor
  std::optional<runtime::RunResult> last_;  // without outputs
  double last_seconds_ = 0;
  std::vector<std::optional<Bound>> inputs_, outputs_;  // in the bundle's order

  std::mutex calls_mutex_;  // locked after mutex_; protects the following members
  int calls_ = 0;
  bool stopped_ = false;  // until all calls in progress have ended
  std::vector<Work*> running_;
};

}  // namespace dovetail::capi

struct dvt_session {
  std::unique_ptr<dovetail::capi::Session> session;
};
