#include "explore/sweep/measure_points.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/executor.h"

namespace dovetail::explore {

Result<void> measure_points(const Space& space, const Evaluator& evaluator, std::span<const isa::Machine> machines,
                            bool check, Work* work,
                            const std::function<Result<void>(std::size_t point, Measured measured)>& done) {
  const Result<Programs> programs = evaluator.compile(machines.front().hardware);
  if (programs.ok() && check) {
    DOVETAIL_ASSIGN(const runtime::MakeSimulator functional, runtime::simulator_factory("functional"));
    DOVETAIL_TRY(evaluator.workload().run(*programs, functional));
  }
  if (!programs.ok() && programs.errors().front().cause == Cause::resource) return programs.errors();
  for (std::size_t i = 0; i < machines.size(); ++i) {
    Measured measured;
    if (programs.ok()) {
      DOVETAIL_ASSIGN(Evaluator::Point point, evaluator.measure(*programs, machines[i].system, work));
      measured.values = to_json(point.metrics);
      measured.models = std::move(point.models);
      measured.why = broken_constraint(point.metrics, space.constraints());
    } else {
      const Diagnostic& error = programs.errors().front();
      measured.why = fmt::format("{}: {}", error.what, error.why);
    }
    if (!measured.why.empty()) measured.state = PointState::infeasible;
    DOVETAIL_TRY(done(i, std::move(measured)));
  }
  return {};
}

std::string job_text(std::span<const Genes> genes, std::span<const std::string> keys) {
  Json job = Json::array();
  for (std::size_t i = 0; i < genes.size(); ++i) job.push_back({{"genes", genes[i]}, {"key", keys[i]}});
  return job.dump();
}

Result<std::string> do_job(const Space& space, const EvaluatorFor& evaluator, bool check, std::string_view job) {
  DOVETAIL_ASSIGN(const Json points, parse_json(job, "a job of the sweep"));
  std::vector<isa::Machine> machines;
  Genes genes;
  for (const Json& point : points) {
    genes = point.at("genes").get<Genes>();
    DOVETAIL_ASSIGN(isa::Machine machine, space.machine(genes));
    if (const std::string key = space.key(machine, genes); key != point.at("key").get<std::string>())
      return Diagnostic{"processes work on different tasks", point.at("key").get<std::string>(),
                        fmt::format("the point is {} here", key), "all processes need the same space and kit"};
    machines.push_back(std::move(machine));
  }
  Json result = Json::array();
  DOVETAIL_TRY(measure_points(space, evaluator(genes), machines, check, nullptr,
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
    all.push_back({row.at("state") == name(PointState::measured) ? PointState::measured : PointState::infeasible,
                   row.at("why").get<std::string>(), row.at("values"), row.at("models")});
  if (all.size() != points)
    return Diagnostic{"cannot use the result of a process", "sweep",
                      fmt::format("it has {} points, and the process was given {}", all.size(), points),
                      "start all processes with the same version of the kit"};
  return all;
}

}  // namespace dovetail::explore
