#include "capi/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "capi/arguments.h"
#include "capi/status.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

namespace dovetail::capi {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The key of the system in a bundle's report (driver/compile_model.cpp).
constexpr const char* kSystemEntry = "system";

constexpr const char* kWhyStopped = "dvt_session_stop was called";
constexpr const char* kStoppedHint = "call again to do the work";

Result<driver::System> system_of(const LoadedBundle& loaded, const driver::SystemChanges& changes) {
  isa::SystemConfig config;
  const Json& report = loaded.bundle.report;
  const bool known = report.is_object() && report.contains(kSystemEntry);
  if (known) {
    DOVETAIL_ASSIGN(config,
                    isa::system_from_json(report[kSystemEntry], fmt::format("{}, \"{}\"", loaded.where, kSystemEntry)));
  }
  return driver::resolve_system(config, known ? "the bundle" : "default", changes);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

bool is_state(const bundle::Bundle& bundle, bundle::TensorIndex input) {
  return std::ranges::find(bundle.states, input, &bundle::State::input) != bundle.states.end();
}

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

}  // namespace

Result<SessionSettings> settings_of(const dvt_session_options* given, std::string_view argument) {
  DOVETAIL_ASSIGN(const dvt_session_options options, options_of(given, argument));
  SessionSettings settings;
  settings.engine = text_or(options.engine, settings.engine);
  DOVETAIL_TRY(check_value(options.threads, 0, 1024, fmt::format("{}, threads", argument)));
  settings.threads = options.threads;
  DOVETAIL_TRY(check_value(options.accelerators, 0, isa::kMostAccelerators, fmt::format("{}, accelerators", argument)));
  if (options.memory != nullptr) settings.system.memory = options.memory;
  if (options.clock_mhz != 0) settings.system.clock_mhz = options.clock_mhz;
  if (options.accelerators != 0) settings.system.accelerators = options.accelerators;
  const bool has_clock = runtime::has_clock(settings.engine);
  settings.system.timed = has_clock;
  if (!has_clock && (options.memory != nullptr || options.clock_mhz != 0 || options.accelerators > 1))
    return bad_argument(argument,
                        fmt::format("engine {} has no clock, and would ignore memory, clock_mhz and "
                                    "accelerators",
                                    settings.engine),
                        "leave them out, or use engine cycle");
  if (settings.engine == "axi" && (options.memory != nullptr || options.accelerators > 1))
    return bad_argument(argument, "engine axi runs on one accelerator with the memory that its board has",
                        "leave memory and accelerators out");
  DOVETAIL_ASSIGN(settings.callbacks, Callbacks::of(options.callbacks, fmt::format("{}, callbacks", argument)));
  DOVETAIL_ASSIGN(settings.own_targets, own_targets_of(options.own_targets, options.own_target_count,
                                                       fmt::format("{}, own_targets", argument)));
  return settings;
}

Result<std::unique_ptr<Session>> Session::make(std::shared_ptr<const LoadedBundle> loaded, SessionSettings settings) {
  if (!loaded->why_not.empty())
    return Diagnostic{"cannot run bundle", loaded->where,
                      fmt::format("the bundle has machine code in the steps of {}, which may not run: {}",
                                  fmt::join(loaded->machine_code, ", "), loaded->why_not),
                      "compile the model again, or load it with DVT_TRUST_ALWAYS if you know who made it"};
  std::unique_ptr<Session> session(new Session(std::move(loaded), std::move(settings)));
  DOVETAIL_ASSIGN(session->system_, system_of(*session->loaded_, session->settings_.system));
  session->engine_options_.memory = session->system_.memory;
  session->engine_options_.accelerators = session->system_.accelerators;
  session->engine_options_.by_launch = session->system_.divides_samples();
  session->inputs_.resize(session->loaded_->bundle.inputs.size());
  session->outputs_.resize(session->loaded_->bundle.outputs.size());
  DOVETAIL_TRY(session->make_ready());
  return session;
}

Result<void> Session::make_ready() {
  if (executor_) return {};
  work_ = std::make_unique<Work>();
  engine_options_.work = work_.get();
  DOVETAIL_ASSIGN(const runtime::MakeSimulator make_simulator,
                  runtime::simulator_factory(settings_.engine, engine_options_));
  runtime::ExecutorOptions options;
  options.threads = settings_.threads;
  options.placement = ThreadPool::Placement::apart;
  options.work = work_.get();
  for (const auto& target : settings_.own_targets) {
    DOVETAIL_ASSIGN(auto device, make_device(target));
    options.devices.push_back(std::move(device));
  }
  DOVETAIL_ASSIGN(executor_, runtime::Executor::make(loaded_->bundle, make_simulator, options));
  executor_->set_states(std::move(states_));
  states_.clear();
  return {};
}

Session::KeptStates::KeptStates(Session& session, bool keeps) : session_(session) {
  if (!keeps || session.loaded_->bundle.states.empty()) return;
  if (auto values = session.states_now(); values.ok()) values_ = *std::move(values);
}

Session::KeptStates::~KeptStates() {
  if (!values_) return;
  if (session_.executor_) session_.executor_->set_states(*std::move(values_));
  else session_.states_ = *std::move(values_);
}

Session::Call::Call(Session& session) : session_(session) {
  const std::scoped_lock lock(session_.calls_mutex_);
  ++session_.calls_;
}

Session::Call::~Call() {
  const std::scoped_lock lock(session_.calls_mutex_);
  if (--session_.calls_ == 0) session_.stopped_ = false;
}

Session::Running::Running(Session& session, Work& work, std::string what) : session_(session), work_(work) {
  {
    const std::scoped_lock lock(session_.calls_mutex_);
    session_.running_.push_back(&work_);
    if (session_.stopped_) work_.stop(kWhyStopped, kStoppedHint);
  }
  watched_.emplace(session_.settings_.callbacks, &work_, std::move(what));
}

Session::Running::~Running() {
  watched_.reset();
  const std::scoped_lock lock(session_.calls_mutex_);
  std::erase(session_.running_, &work_);
}

void Session::stop() {
  const std::scoped_lock lock(calls_mutex_);
  stopped_ = calls_ > 0;
  for (Work* work : running_) work->stop(kWhyStopped, kStoppedHint);
}

void Session::drop_executor() {
  while (executor_) {
    if (const auto values = executor_->states(); values.ok()) states_ = **values;
    else if (work_->stopped()) {  // which also stops the steps that bring states to the host
      work_->resume();
      continue;
    }
    executor_.reset();
  }
}

void Session::drop_stopped() {
  if (work_->stopped()) drop_executor();
}

Result<std::map<std::string, NdArray>> Session::states_now() const {
  std::map<std::string, NdArray> values;
  const std::map<std::string, NdArray>* known = &states_;
  if (executor_) {
    DOVETAIL_ASSIGN(known, executor_->states());
  }
  for (const bundle::State& state : loaded_->bundle.states) {
    const bundle::Tensor& tensor = tensor_at(loaded_->bundle, state.input);
    const auto found = known->find(tensor.name);
    values.emplace(tensor.name, found != known->end() ? found->second : NdArray(tensor.dtype, tensor.shape));
  }
  return values;
}

Result<std::vector<std::pair<std::string, NdArray>>> Session::states() const {
  const std::scoped_lock lock(mutex_);
  DOVETAIL_ASSIGN(const auto values, states_now());
  return std::vector<std::pair<std::string, NdArray>>(values.begin(), values.end());
}

Result<void> Session::set_states(const Inputs& values) {
  const auto takes = [&](const bundle::Bundle& program, const std::string& name, const NdArray& value) {
    return std::ranges::any_of(program.states, [&](const bundle::State& state) {
      const bundle::Tensor& tensor = tensor_at(program, state.input);
      return tensor.name == name && tensor.dtype == value.dtype() && tensor.shape == value.shape();
    });
  };
  std::vector<std::string> known;
  const auto add_known = [&](const bundle::Bundle& program) {
    for (const bundle::State& state : program.states) {
      const bundle::Tensor& tensor = tensor_at(program, state.input);
      known.push_back(fmt::format("{}: {}{}", tensor.name, name(tensor.dtype), to_string(tensor.shape)));
    }
  };
  add_known(loaded_->bundle);
  for (const bundle::Bundle& other : loaded_->bundle.other_shapes) add_known(other);
  for (const auto& [name, value] : values) {
    if (takes(loaded_->bundle, name, value) ||
        std::ranges::any_of(loaded_->bundle.other_shapes,
                            [&, &name = name, &value = value](const auto& other) { return takes(other, name, value); }))
      continue;
    const bool is_known = std::ranges::any_of(
        known, [&, &name = name](const std::string& each) { return each.starts_with(name + ": "); });
    return Diagnostic{
        "cannot set a state", name,
        is_known ? fmt::format("the value is {}{}", dovetail::name(value.dtype()), to_string(value.shape()))
                 : "there is no state of this name",
        known.empty() ? "the bundle has no states" : fmt::format("the states are {}", fmt::join(known, ", "))};
  }
  const std::scoped_lock lock(mutex_);
  if (executor_) executor_->set_states(values);
  else states_ = values;
  return {};
}

Result<void> Session::may_run() {
  if (settings_.callbacks.cancelled()) return settings_.callbacks.stopped(loaded_->where);
  const std::scoped_lock lock(calls_mutex_);
  if (stopped_) return Diagnostic{"stopped", loaded_->where, kWhyStopped, kStoppedHint, Cause::work};
  return {};
}

Result<runtime::RunResult> Session::run_locked(const Inputs& inputs, const runtime::RunOptions& options) {
  DOVETAIL_TRY(may_run());
  DOVETAIL_TRY(make_ready());
  // If a program has these shapes, it reports what is wrong with the inputs, as a mistake of the caller.
  const bool fits = std::ranges::any_of(loaded_->bundle.other_shapes, [&](const bundle::Bundle& other) {
    return runtime::check_inputs(other, inputs).ok();
  });
  if (!fits) DOVETAIL_TRY(runtime::check_inputs(loaded_->bundle, inputs));
  auto result = [&] {
    const Running running(*this, *work_, "run");
    return executor_->run(inputs, options);
  }();
  drop_stopped();
  if (!result.ok()) return failed_work(result.errors());
  return result;
}

Result<runtime::RunResult> Session::run(const Inputs& inputs, const runtime::RunOptions& options, Keep keep) {
  const std::scoped_lock lock(mutex_);
  const auto start = Clock::now();
  const KeptStates kept(*this, keep == Keep::states);
  DOVETAIL_ASSIGN(runtime::RunResult result, run_locked(inputs, options));
  last_seconds_ = seconds_since(start);
  last_.emplace(runtime::RunResult{{}, {}, result.steps, result.counters, result.launched});
  return result;
}

std::vector<std::pair<std::string, NdArray>> Session::outputs_of(runtime::RunResult& result) const {
  std::vector<std::pair<std::string, NdArray>> outputs;
  for (const bundle::TensorIndex index : loaded_->bundle.outputs) {
    const std::string& name = tensor_at(loaded_->bundle, index).name;
    if (const auto found = result.outputs.find(name); found != result.outputs.end())
      outputs.emplace_back(name, found->second);
  }
  return outputs;
}

Result<void> Session::bind(bool input, const std::string& name, const DLTensor* tensor, std::string_view argument) {
  const bundle::Bundle& program = loaded_->bundle;
  const std::vector<bundle::TensorIndex>& indices = input ? program.inputs : program.outputs;
  const std::string_view kind = input ? "input" : "output";
  const auto found = std::ranges::find_if(
      indices, [&](const bundle::TensorIndex index) { return tensor_at(program, index).name == name; });
  if (found == indices.end()) {
    std::vector<std::string> names;
    for (const bundle::TensorIndex index : indices) names.push_back(tensor_at(program, index).name);
    return Diagnostic{fmt::format("cannot bind {}", kind), name,
                      fmt::format("the bundle's {}s are {}", kind, fmt::join(names, ", ")), "give one of these names"};
  }
  const auto position = static_cast<std::size_t>(found - indices.begin());
  const std::scoped_lock lock(mutex_);
  std::optional<Bound>& bound = input ? inputs_[position] : outputs_[position];
  if (tensor == nullptr) {
    bound.reset();
    return {};
  }
  DOVETAIL_ASSIGN(View view, view_of(tensor, fmt::format("{}, {}", argument, name)));
  const bundle::Tensor& own = tensor_at(program, *found);
  if (view.dtype != own.dtype || view.shape != own.shape)
    return Diagnostic{fmt::format("cannot bind {}", kind), name,
                      fmt::format("the tensor is {}{}, but the first program's {} is {}{}", dovetail::name(view.dtype),
                                  to_string(view.shape), kind, dovetail::name(own.dtype), to_string(own.shape)),
                      "bind a tensor of that type and shape, or use dvt_session_run"};
  if (!input)
    for (const bundle::OutputExtent& extent : program.extents)
      if (extent.output == *found)
        return Diagnostic{"cannot bind output", name,
                          fmt::format("the output's extent along axis {} depends on values", extent.axis),
                          "leave it unbound, and use dvt_session_run"};
  bound.emplace(Bound{std::move(view), {}});
  Bound& own_bound = *bound;
  if (input && reinterpret_cast<std::uintptr_t>(own_bound.view.data) % bundle::kTensorAlignment != 0)
    own_bound.aligned = AlignedBytes(own_bound.view.bytes);
  return {};
}

Result<void> Session::run_bound() {
  const std::scoped_lock lock(mutex_);
  DOVETAIL_TRY(may_run());
  const bundle::Bundle& program = loaded_->bundle;
  std::vector<std::span<const std::byte>> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i] && is_state(program, program.inputs[i])) {
      inputs.emplace_back();
      continue;
    }
    if (!inputs_[i])
      return Diagnostic{"cannot run", tensor_at(program, program.inputs[i]).name, "the input is not bound",
                        "bind it with dvt_session_bind_input"};
    Bound& bound = *inputs_[i];
    if (bound.aligned.size() == 0) {
      inputs.push_back(bound.view.span());
      continue;
    }
    std::memcpy(bound.aligned.data(), bound.view.data, bound.view.bytes);
    inputs.emplace_back(bound.aligned.begin(), bound.aligned.size());
  }
  bool binds_states = false;
  std::vector<std::span<std::byte>> outputs(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i]) continue;
    outputs[i] = {static_cast<std::byte*>(outputs_[i]->view.data), outputs_[i]->view.bytes};
    if (std::ranges::find(program.states, program.outputs[i], &bundle::State::output) != program.states.end())
      binds_states = true;
  }
  DOVETAIL_TRY(make_ready());
  if (!program.other_shapes.empty()) last_.reset();  // its steps may be those of another program
  const auto ran = [&] {
    const Running running(*this, *work_, "run");
    return executor_->run_in_place(inputs, outputs, binds_states);
  }();
  if (!ran.ok()) {
    drop_stopped();
    return failed_work(ran.errors());
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i] || outputs_[i]->view.bytes == 0) continue;
    const auto bytes = executor_->output(tensor_at(program, program.outputs[i]).name);
    if (bytes.data() != outputs[i].data()) std::memcpy(outputs[i].data(), bytes.data(), bytes.size());
  }
  drop_stopped();
  return {};
}

Json Session::steps_json(const std::vector<runtime::StepProfile>& steps) const {
  Json rows = Json::array();
  for (const runtime::StepProfile& step : steps) {
    Json row{{"name", step.name}, {"target", step.target}, {"seconds", step.seconds}};
    if (step.counters != simulator::Counters{}) row["counters"] = simulator::to_json(step.counters);
    if (!step.launches.empty()) {
      std::uint64_t cycles = 0;
      for (const runtime::TimedLaunch& launch : step.launches) cycles += launch.trace.cycles;
      row["cycles"] = cycles;
      row["accelerator_seconds"] = system_.seconds(cycles);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<void> Session::with_last_run(
    const std::function<Result<void>(const bundle::Bundle& program, const runtime::RunResult& run)>& use) const {
  const std::scoped_lock lock(mutex_);
  if (!last_ || !executor_)
    return Diagnostic{"there is nothing to report", loaded_->where,
                      "no dvt_session_run has ended since the session was made, traced or stopped",
                      "run the session first"};
  return use(executor_->program(), *last_);
}

Result<Json> Session::report() const {
  Json json;
  DOVETAIL_TRY(with_last_run([&](const bundle::Bundle&, const runtime::RunResult& run) -> Result<void> {
    json = {{"kind", "session-run"},
            {"engine", settings_.engine},
            {"threads", settings_.threads > 0 ? settings_.threads : runtime::default_threads()},
            {"seconds", last_seconds_},
            {"steps", steps_json(run.steps)},
            {"counters", simulator::to_json(run.counters)}};
    return {};
  }));
  return json;
}

Result<Json> Session::profile(const Inputs& inputs, std::int64_t repeat) {
  const std::scoped_lock lock(mutex_);
  const KeptStates kept(*this, true);
  constexpr runtime::RunOptions kAsRun{.copy_states = false};
  DOVETAIL_ASSIGN(runtime::RunResult last, run_locked(inputs, kAsRun));
  std::vector<double> whole;
  std::vector<std::vector<double>> of_step(last.steps.size());
  for (std::int64_t i = 0; i < repeat; ++i) {
    settings_.callbacks.progress("runs", i, repeat);
    const auto start = Clock::now();
    DOVETAIL_ASSIGN(last, run_locked(inputs, kAsRun));
    whole.push_back(seconds_since(start));
    for (std::size_t s = 0; s < of_step.size(); ++s) of_step[s].push_back(last.steps[s].seconds);
  }
  for (std::size_t s = 0; s < of_step.size(); ++s) last.steps[s].seconds = median(of_step[s]);
  Json steps = steps_json(last.steps);
  DOVETAIL_ASSIGN(const auto kernels, bundle::cpu_steps(executor_->program()));
  for (const auto& [index, step, code] : kernels)
    steps[index].update({{"operations", code.operations}, {"integer", code.integer}});
  return Json{
      {"kind", "session-profile"},
      {"repeat", repeat},
      {"engine", settings_.engine},
      {"threads", settings_.threads > 0 ? settings_.threads : runtime::default_threads()},
      {"seconds", {{"median", median(whole)}, {"low", percentile(whole, 0.1)}, {"high", percentile(whole, 0.9)}}},
      {"steps", std::move(steps)},
      {"counters", simulator::to_json(last.counters)}};
}

Result<void> Session::trace(const Inputs& inputs, const UseRun& use) {
  const std::scoped_lock lock(mutex_);
  if (!runtime::has_timeline(settings_.engine))
    return Diagnostic{"cannot trace", loaded_->where, runtime::no_timeline(settings_.engine),
                      "make a session with engine cycle"};
  const KeptStates kept(*this, true);
  // This executor records events. The next run creates one that does not.
  drop_executor();
  engine_options_.trace = true;
  const auto run = [&]() -> Result<void> {
    DOVETAIL_ASSIGN(const runtime::RunResult result, run_locked(inputs, {}));
    const Running timing(*this, *work_, "timing on other hardware");
    return use(executor_->program(), result, engine_options_);
  };
  const Result<void> done = run();
  engine_options_.trace = false;
  drop_executor();
  return done;
}

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_session_create(const dvt_bundle* bundle, const dvt_session_options* options, dvt_session** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_session_create: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(bundle, "dvt_session_create: bundle"));
    DOVETAIL_ASSIGN(SessionSettings settings, settings_of(options, "dvt_session_create: options"));
    DOVETAIL_ASSIGN(auto session, capi::Session::make(bundle->loaded, std::move(settings)));
    *out = new dvt_session{std::move(session)};
    return {};
  });
}

void dvt_session_free(dvt_session* session) { delete session; }

dvt_status* dvt_session_run(dvt_session* session, const dvt_named_tensor* inputs, size_t count, dvt_tensors** outputs) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(outputs, "dvt_session_run: outputs"));
    *outputs = nullptr;
    DOVETAIL_TRY(require(session, "dvt_session_run: session"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_session_run: inputs"));
    const capi::Session::Call call(*session->session);
    DOVETAIL_ASSIGN(runtime::RunResult result, session->session->run(arrays, {.copy_states = false}));
    DOVETAIL_ASSIGN(*outputs, tensors_of(session->session->outputs_of(result), session->session->settings().callbacks));
    return {};
  });
}

dvt_status* dvt_session_states(dvt_session* session, dvt_tensors** values) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(values, "dvt_session_states: values"));
    *values = nullptr;
    DOVETAIL_TRY(require(session, "dvt_session_states: session"));
    auto states = session->session->states();
    if (!states.ok()) return states.errors();
    DOVETAIL_ASSIGN(*values, tensors_of(*std::move(states), session->session->settings().callbacks));
    return {};
  });
}

dvt_status* dvt_session_set_states(dvt_session* session, const dvt_named_tensor* values, size_t count) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_set_states: session"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(values, count, "dvt_session_set_states: values"));
    return session->session->set_states(arrays);
  });
}

dvt_status* dvt_session_bind_input(dvt_session* session, const char* name, const DLTensor* tensor) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_bind_input: session"));
    DOVETAIL_TRY(require(name, "dvt_session_bind_input: name"));
    return session->session->bind(true, name, tensor, "dvt_session_bind_input");
  });
}

dvt_status* dvt_session_bind_output(dvt_session* session, const char* name, const DLTensor* tensor) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_bind_output: session"));
    DOVETAIL_TRY(require(name, "dvt_session_bind_output: name"));
    return session->session->bind(false, name, tensor, "dvt_session_bind_output");
  });
}

dvt_status* dvt_session_run_bound(dvt_session* session) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_run_bound: session"));
    const capi::Session::Call call(*session->session);
    return session->session->run_bound();
  });
}

void dvt_session_stop(dvt_session* session) {
  if (session != nullptr) session->session->stop();
}

dvt_status* dvt_session_report(dvt_session* session, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_report: session"));
    DOVETAIL_TRY(require(json, "dvt_session_report: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const Json report, session->session->report());
    *json = owned_json(report);
    return {};
  });
}

dvt_status* dvt_session_profile(dvt_session* session, const dvt_named_tensor* inputs, size_t count, int64_t repeat,
                                char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_profile: session"));
    DOVETAIL_TRY(require(json, "dvt_session_profile: json"));
    *json = nullptr;
    DOVETAIL_TRY(check_value(repeat, 1, 1'000'000, "dvt_session_profile: repeat"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_session_profile: inputs"));
    const capi::Session::Call call(*session->session);
    DOVETAIL_ASSIGN(const Json profile, session->session->profile(arrays, repeat));
    *json = owned_json(profile);
    return {};
  });
}

}  // extern "C"
