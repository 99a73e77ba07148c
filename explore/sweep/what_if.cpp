#include "explore/sweep/what_if.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text_table.h"
#include "base/thread_pool.h"
#include "isa/spec/config.h"

namespace dovetail::explore {

namespace {

// Wider addresses never save cycles.
constexpr std::string_view kNoResource = "address_bits";
// A memory with the least latency (one cycle), unlimited bandwidth and the most bursts in flight.
constexpr const char* kInstantMemory = "ideal:latency=1,bytes=0,outstanding=65536";

struct Candidate {
  std::string change;
  isa::Machine machine;
};

std::vector<Candidate> candidates(const isa::Machine& machine) {
  std::vector<Candidate> all;
  for (const isa::spec::Parameter& row : isa::spec::kParameters) {
    if (row.key == kNoResource) continue;
    Candidate more{{}, machine};
    more.machine.hardware.*row.member *= 2;
    more.change = fmt::format("{}={}", row.key, more.machine.hardware.*row.member);
    all.push_back(std::move(more));
  }
  for (const isa::spec::Extension& row : isa::spec::kExtensions) {
    if (machine.hardware.*row.member) continue;
    Candidate with{fmt::format("{}=true", row.key), machine};
    with.machine.hardware.*row.member = true;
    all.push_back(std::move(with));
  }
  Candidate instant{fmt::format("memory={}", kInstantMemory), machine};
  instant.machine.system.memory = kInstantMemory;
  instant.machine.system.memory_clock_mhz.reset();
  all.push_back(std::move(instant));
  for (Candidate& candidate : all) candidate.machine.hardware.name = machine.hardware.name + "," + candidate.change;
  return all;
}

double change_of(double value, double base) { return base == 0 ? 0 : 100 * (value / base - 1); }

}  // namespace

Result<WhatIfTable> what_if(const Evaluator& evaluator, const isa::Machine& machine, int jobs, Work* work) {
  const auto measure = [&](const isa::Machine& each) -> Result<Metrics> {
    DOVETAIL_TRY(isa::validate(each.hardware));
    DOVETAIL_ASSIGN(const Programs programs, evaluator.compile(each));
    DOVETAIL_ASSIGN(const Evaluator::Point point, evaluator.measure(programs, each.system, work));
    return point.metrics;
  };
  WhatIfTable table{machine, {}, {}};
  DOVETAIL_ASSIGN(table.base, measure(machine));
  const std::vector<Candidate> all = candidates(machine);
  table.steps.resize(all.size());
  ThreadPool pool(jobs > 0 ? jobs : available_processors(), ThreadPool::Placement::free);
  pool.parallel_for(static_cast<std::int64_t>(all.size()), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Result<Metrics> metrics = measure(all[at].machine);
      table.steps[at] = {all[at].change, metrics.ok() ? "" : metrics.errors().front().why,
                         metrics.ok() ? *metrics : Metrics{}, encoding_name(all[at].machine.hardware)};
    }
  });
  if (work != nullptr && work->stopped()) return work->stopped_at("what-if");
  std::ranges::stable_sort(table.steps, [](const WhatIfStep& a, const WhatIfStep& b) {
    return a.why.empty() != b.why.empty() ? a.why.empty() : a.metrics.latency_ms < b.metrics.latency_ms;
  });
  return table;
}

std::string to_text(const WhatIfTable& table) {
  const Metrics& base = table.base;
  const std::string_view encoding = encoding_name(table.machine.hardware);
  TextTable rows({"change", ">latency, ms", ">latency", ">area", ">energy", ">gain by area"});
  rows.add({"(as it is)", fmt::format("{:.4g}", base.latency_ms), "", fmt::format("{:.4g} mm²", base.area_mm2),
            fmt::format("{:.4g} mJ", base.energy_mj), ""});
  std::string refused;
  for (const WhatIfStep& step : table.steps) {
    if (!step.why.empty()) {
      refused += fmt::format("  {}: {}\n", step.change, step.why);
      continue;
    }
    const double gain = -change_of(step.metrics.latency_ms, base.latency_ms),
                 area = change_of(step.metrics.area_mm2, base.area_mm2);
    // Instructions and micro-ops of another size change fetch and micro-op SRAM too.
    const std::string change =
        step.encoding == encoding ? step.change : fmt::format("{} ({} encoding)", step.change, step.encoding);
    rows.add({change, fmt::format("{:.4g}", step.metrics.latency_ms), fmt::format("{:+.1f} %", -gain),
              fmt::format("{:+.1f} %", area),
              fmt::format("{:+.1f} %", change_of(step.metrics.energy_mj, base.energy_mj)),
              area > 0   ? fmt::format("{:.2f}", gain / area)
              : gain > 0 ? "free"
                         : ""});
  }
  const isa::SystemConfig& system = table.machine.system;
  return fmt::format("machine       {}: {:.6g} MHz, memory {}, {} encoding\n\n", table.machine.hardware.name,
                     system.clock_mhz, system.memory, encoding) +
         rows.to_string() + (refused.empty() ? "" : "\nnot possible:\n" + refused);
}

Json to_json(const WhatIfTable& table) {
  Json steps = Json::array();
  for (const WhatIfStep& step : table.steps) {
    steps.push_back({{"change", step.change}, {"encoding", step.encoding}});
    if (step.why.empty()) steps.back()["values"] = to_json(step.metrics);
    else steps.back()["why"] = step.why;
  }
  return {{"kind", "what-if"},
          {"machine", table.machine.hardware.name},
          {"clock_mhz", table.machine.system.clock_mhz},
          {"memory", table.machine.system.memory},
          {"encoding", encoding_name(table.machine.hardware)},
          {"values", to_json(table.base)},
          {"steps", steps}};
}

}  // namespace dovetail::explore
