// Traces of sessions, summaries of traces, and HTML pages of reports.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/report/energy_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/page.h"
#include "cli/report/timing_text.h"
#include "cli/report/trace_report.h"
#include "driver/energy.h"
#include "driver/explanation.h"
#include "driver/latency.h"
#include "driver/timed_program.h"

namespace dovetail::capi {

namespace {

Result<void> trace(Session& session, const Inputs& inputs, bool what_if, char** json, char** trace_text) {
  return session.trace(
      inputs,
      [&](const bundle::Bundle& program, const runtime::RunResult& run,
          const simulator::EngineOptions& options) -> Result<void> {
        auto timed = driver::timed_programs(program, run, options, what_if);
        if (!timed.ok()) return failed_work(timed.errors());
        if (timed->empty())
          return Diagnostic{"cannot trace", session.loaded().where, "nothing ran on the accelerator",
                            "compile with accel among the targets; if it is, the report's left_accelerator says why no "
                            "node is there"};
        const driver::System& system = session.system();
        DOVETAIL_ASSIGN(const explore::EnergyTable table, explore::default_energy_table());
        DOVETAIL_ASSIGN(const auto energy, driver::energy_facts(program, run.steps, system, table));
        for (driver::TimedProgram& each : *timed) each.layer_joules = driver::layer_joules(each, system, table);
        const std::vector<driver::StepTime> times = driver::step_times(run, system);
        const driver::Latency latency = driver::latency_of(times);
        std::string text;
        if (trace_text != nullptr) {
          DOVETAIL_ASSIGN(text, cli::trace_file_text(program.name, *timed, system, latency, cli::energy_json(energy)));
        }
        Json programs = Json::array();
        for (const driver::TimedProgram& each : *timed)
          programs.push_back({{"name", each.name}, {"timing", cli::timing_json(each, system)}});
        Json steps = Json::array();
        for (std::size_t s = 0; s < times.size(); ++s) {
          steps.push_back({{"name", times[s].name}, {"target", times[s].target}, {"seconds", times[s].seconds}});
          if (s < program.steps.size()) steps.back()["origins"] = program.steps[s].origins;  // inner steps follow
        }
        give_json(json, {{"kind", "session-trace"},
                         {"file", session.loaded().where},
                         {"engine", session.settings().engine},
                         {"memory", simulator::to_string(system.memory)},
                         {"latency", cli::latency_json(latency, system)},
                         {"energy", cli::energy_json(energy)},
                         {"steps", std::move(steps)},
                         {"programs", std::move(programs)}});
        if (trace_text != nullptr) *trace_text = owned_text(text);
        return {};
      });
}

Result<cli::TraceFile> trace_file(const char* text, const std::string& argument, const std::string& name) {
  DOVETAIL_TRY(require(text, argument));
  DOVETAIL_ASSIGN(const Json json, parse_json(text, argument));
  return cli::trace_file_of(json, name);
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_session_trace(dvt_session* session, const dvt_named_tensor* inputs, size_t count, int32_t what_if,
                              char** json, char** trace) {
  for (char** out : {json, trace})
    if (out != nullptr) *out = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(session, "dvt_session_trace: session"));
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_session_trace: inputs"));
    const capi::Session::Call call(*session->session);
    return capi::trace(*session->session, arrays, what_if != 0, json, trace);
  });
}

dvt_status* dvt_trace_summary(const char* trace, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_trace_summary: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const cli::TraceFile file, trace_file(trace, "dvt_trace_summary: trace", "trace"));
    *json = owned_json(cli::trace_json(file, cli::sum_up(file.trace)));
    return {};
  });
}

dvt_status* dvt_trace_diff(const char* a, const char* b, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_trace_diff: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const cli::TraceFile one, trace_file(a, "dvt_trace_diff: a", "a"));
    DOVETAIL_ASSIGN(const cli::TraceFile other, trace_file(b, "dvt_trace_diff: b", "b"));
    *json = owned_json(cli::trace_diff_json(one, other, cli::compare_traces(one, other)));
    return {};
  });
}

dvt_status* dvt_explain(const char* a, const char* b, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_explain: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(a, "dvt_explain: a"));
    DOVETAIL_TRY(require(b, "dvt_explain: b"));
    DOVETAIL_ASSIGN(Json one, parse_json(a, "dvt_explain: a"));
    DOVETAIL_ASSIGN(Json other, parse_json(b, "dvt_explain: b"));
    DOVETAIL_ASSIGN(const Json explanation, driver::explain({"a", std::move(one)}, {"b", std::move(other)}));
    *json = owned_json(explanation);
    return {};
  });
}

dvt_status* dvt_page(const char* report, char** html) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(html, "dvt_page: html"));
    *html = nullptr;
    DOVETAIL_TRY(require(report, "dvt_page: report"));
    DOVETAIL_ASSIGN(const Json json, parse_json(report, "dvt_page: report"));
    DOVETAIL_ASSIGN(const std::string page, cli::page_of(json, "dvt_page: report"));
    *html = owned_text(page);
    return {};
  });
}

}  // extern "C"
