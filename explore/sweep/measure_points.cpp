#include "explore/sweep/measure_points.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/executor.h"

namespace dovetail::explore {

namespace {

constexpr std::string_view kNotChecked = "not checked";

std::string text_of(const Diagnostic& error) { return fmt::format("{} ({}): {}", error.what, error.where, error.why); }

// A violated invariant (InternalError) counts as a failure of the points being measured.
template <typename Function>
auto guarded(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const InternalError& error) {
    return Diagnostic{"cannot measure a point", "", error.what(),
                      "this is a bug of the kit: report it with the command"};
  }
}

// Whether the error is one of the sweep, not of a point.
bool ends_sweep(const Diagnostics& errors, const Work* work) {
  return errors.front().cause == Cause::resource || (work != nullptr && work->stopped());
}

}  // namespace

Result<void> measure_points(const Space& space, const Evaluator& evaluator, std::span<const isa::Machine> machines,
                            const MeasurePlan& plan, Work* work,
                            const std::function<Result<void>(std::size_t point, Measured measured)>& done) {
  Measured all;  // what concerns all points
  bool is_bug = false;
  const Result<Programs> programs = guarded([&]() -> Result<Programs> {
    is_bug = true;
    auto compiled = evaluator.compile(machines.front());
    is_bug = false;
    return compiled;
  });
  std::vector<std::string> outcomes;
  if (!programs.ok()) {
    if (ends_sweep(programs.errors(), work)) return programs.errors();
    const Diagnostic& error = programs.errors().front();
    all.state = is_bug ? PointState::failed : PointState::infeasible;
    all.why = fmt::format("{}: {}", error.what, error.why);
  } else if (plan.check) {
    const auto checks = guarded([&]() -> Result<std::vector<ModelCheck>> {
      DOVETAIL_ASSIGN(const runtime::MakeSimulator functional, runtime::simulator_factory("functional"));
      return evaluator.workload().run(*programs, functional);
    });
    if (!checks.ok()) {
      if (ends_sweep(checks.errors(), work)) return checks.errors();
      all.state = PointState::failed;
      all.why = text_of(checks.errors().front());
    } else {
      for (const ModelCheck& each : *checks) outcomes.push_back(each.outcome);
    }
  }
  for (std::size_t i = 0; i < machines.size(); ++i) {
    Measured measured = all;
    if (all.why.empty()) {
      auto point = guarded([&]() -> Result<Evaluator::Point> {
        DOVETAIL_ASSIGN(Evaluator::Point timed, evaluator.measure(*programs, machines[i].system, work));
        for (std::size_t m = 0; plan.layers && m < timed.models.size(); ++m) {
          DOVETAIL_ASSIGN(const auto layers, evaluator.layers(*programs, m, machines[i].system));
          for (const LayerTime& layer : layers) timed.models[m]["layers"].push_back(to_json(layer));
        }
        return timed;
      });
      if (!point.ok()) {
        if (ends_sweep(point.errors(), work)) return point.errors();
        measured.state = PointState::failed;
        measured.why = text_of(point.errors().front());
      } else {
        for (std::size_t m = 0; m < point->models.size(); ++m)
          point->models[m]["check"] = m < outcomes.size() ? outcomes[m] : std::string(kNotChecked);
        measured.values = to_json(point->metrics);
        std::string undefined;
        for (const Objective& objective : space.objectives()) {
          const double value = objective.formula.value(point->metrics);
          if (std::isfinite(value)) measured.values[objective.key()] = value;
          else undefined = fmt::format("the objective {} is not a finite number", objective.key());
        }
        measured.models = std::move(point->models);
        measured.why = undefined.empty() ? broken_constraint(point->metrics, space.constraints()) : undefined;
        if (!measured.why.empty()) measured.state = PointState::infeasible;
      }
    }
    DOVETAIL_TRY(done(i, std::move(measured)));
  }
  return {};
}

std::string job_text(std::span<const Genes> genes, std::span<const std::string> keys) {
  Json job = Json::array();
  for (std::size_t i = 0; i < genes.size(); ++i) job.push_back({{"genes", genes[i]}, {"key", keys[i]}});
  return job.dump();
}

Result<std::string> do_job(const Space& space, const EvaluatorFor& evaluator, const MeasurePlan& plan,
                           std::string_view job) {
  DOVETAIL_ASSIGN(const Json points, parse_json(job, "a job of the sweep"));
  std::vector<isa::Machine> machines;
  Genes genes;
  for (const Json& point : points) {
    genes = point.at("genes").get<Genes>();
    DOVETAIL_ASSIGN(isa::Machine machine, space.machine(genes));
    if (const std::string key = space.key(machine, genes); key != point.at("key").get<std::string>())
      return Diagnostic{"processes work on different tasks", point.at("key").get<std::string>(),
                        fmt::format("this process computes the key {}", key),
                        "all processes need the same space and kit"};
    machines.push_back(std::move(machine));
  }
  Json result = Json::array();
  DOVETAIL_TRY(measure_points(space, evaluator(genes), machines, plan, nullptr,
                              [&](std::size_t, Measured measured) -> Result<void> {
                                result.push_back({{"state", name(measured.state)},
                                                  {"why", measured.why},
                                                  {"values", std::move(measured.values)},
                                                  {"models", std::move(measured.models)}});
                                return {};
                              }));
  return result.dump();
}

Result<std::vector<Measured>> job_result(std::string_view text, std::size_t points) {
  DOVETAIL_ASSIGN(const Json rows, parse_json(text, "the result of a job"));
  std::vector<Measured> all;
  for (const Json& row : rows)
    all.push_back({state_of(row.at("state").get<std::string>()), row.at("why").get<std::string>(), row.at("values"),
                   row.at("models")});
  if (all.size() != points)
    return Diagnostic{"cannot use the result of a process", "sweep",
                      fmt::format("the result has {} points, but the process was given {}", all.size(), points),
                      "start all processes with the same version of the kit"};
  return all;
}

}  // namespace dovetail::explore
