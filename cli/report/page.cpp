#include "cli/report/page.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_problem.h"
#include "cli/report/comparison_text.h"
#include "cli/report/explanation_text.h"
#include "cli/report/quantize_report.h"
#include "cli/report/tune_report.h"
#include "explore/sweep/report.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/page.h"
#include "simulator/trace/traced_program.h"

namespace dovetail::cli {

namespace {

Result<std::string> page_of_trace(const Json& file, std::string_view where) {
  DOVETAIL_ASSIGN(const simulator::Trace trace, simulator::trace_from_json(file, where));
  return trace_page(file, trace, where);
}

struct PageRow {
  std::string_view kind;
  Result<std::string> (*page)(const Json& report, std::string_view where);
};
constexpr auto kPages = std::to_array<PageRow>({
    {"comparison", [](const Json& report, std::string_view) -> Result<std::string> { return comparison_page(report); }},
    {"explanation",
     [](const Json& report, std::string_view) -> Result<std::string> { return explanation_page(report); }},
    {"explore", explore::sweep_page},
    {"quantize", [](const Json& report, std::string_view) -> Result<std::string> { return quantized_page(report); }},
    {"trace", page_of_trace},
    {"tune", [](const Json& report, std::string_view) -> Result<std::string> { return tune_page(report); }},
});

}  // namespace

Result<std::string> page_of(const Json& report, std::string_view where) {
  const std::string kind = report.is_object() && report.contains("kind") ? report.at("kind").dump() : "missing";
  const auto row = std::ranges::find_if(kPages, [&](const PageRow& each) {
    return report.is_object() && report.contains("kind") && report.at("kind") == each.kind;
  });
  if (row == kPages.end()) {
    std::vector<std::string_view> kinds;
    for (const PageRow& each : kPages) kinds.push_back(each.kind);
    return Diagnostic{"cannot make a page", std::string(where),
                      fmt::format("\"kind\" is {}, for which there is no page", kind),
                      fmt::format("give a report of the kind {}", fmt::join(kinds, ", "))};
  }
  try {
    return row->page(report, where);
  } catch (const Json::exception& error) {
    return Diagnostic{"cannot make a page", std::string(where),
                      fmt::format("the report is not one of the kind {}: {}", row->kind, json_problem(error.what())),
                      "give all of a report that the kit made"};
  }
}

Result<std::string> trace_page(const Json& file, const simulator::Trace& trace, std::string_view where) {
  const auto text = [&](const char* key) {
    return file.contains(key) && file.at(key).is_string() ? file.at(key).get<std::string>() : std::string();
  };
  if (!file.contains("programs"))
    return Diagnostic{"cannot make a page of the trace", std::string(where), "the trace does not contain its programs",
                      "write it again with --trace"};
  DOVETAIL_ASSIGN(const auto programs, simulator::traced_programs_from_json(file.at("programs"), trace, where));
  if (programs.empty())
    return Diagnostic{"cannot make a page of the trace", std::string(where), "the trace has no launches",
                      "trace a program that runs on the accelerator"};
  DOVETAIL_ASSIGN(const simulator::RunTime time,
                  simulator::run_time_from_json(file.value("time", Json(nullptr)), where));
  DOVETAIL_ASSIGN(const simulator::MemorySpec memory, simulator::parse_memory(text("memory")));
  return simulator::page_text(text("title"), trace, programs, memory, time, file.value("energy", Json()));
}

}  // namespace dovetail::cli
