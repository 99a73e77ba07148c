#include "cli/report/comparison_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/energy_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/text.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

Json agreement_json(const driver::ComparedRow& row) {
  if (!row.agreement) return nullptr;
  return {{"elements", row.agreement->elements},
          {"different", row.agreement->different},
          {"largest_difference", std::isfinite(row.agreement->largest) ? Json(row.agreement->largest) : Json()},
          {"equal", row.agreement->equal()},
          {"agrees", row.agreement->agrees()},
          {"stepped", row.agreement->stepped}};
}

std::string agreement_word(const driver::Agreement& agreement) {
  return agreement.equal() ? "equal" : agreement.agrees() ? "agree" : "differ";
}

// Details of a row that do not fit into the table.
std::string detail_text(const driver::ComparedRow& row) {
  std::string text = fmt::format("  {} {}\n", row.target, row.machine);
  const auto line = [&](std::string_view name, const std::string& what) {
    text += fmt::format("    {:<10} {}\n", name, in_columns(what, 15));
  };
  if (!row.available()) {
    line("not run", row.unavailable);
    if (!row.hint.empty()) line("", row.hint);
    return text;
  }
  if (row.accelerator) {
    const driver::ComparedAccelerator& accel = *row.accelerator;
    line("cycles", fmt::format("{} = {} at {:.6g} MHz in {} step{}; memory {}", with_separators(accel.cycles),
                               milliseconds_text(accel.seconds), accel.clock_mhz, accel.steps,
                               accel.steps == 1 ? "" : "s", accel.memory));
    if (!accel.clock_model.empty()) line("clock", accel.clock_model);
    if (!accel.beyond_design.empty()) line("clock", accel.beyond_design);
    if (accel.samples() > 1)
      line("batch", fmt::format("{} samples, {} on each accelerator; all share the memory. The latency is the batch's; "
                                "energy is of one inference",
                                accel.samples() * row.batch, row.batch == 1 ? "one" : fmt::format("{}", row.batch)));
    if (accel.other_steps > 0)
      line("other", fmt::format("{} in {} steps of this machine, median of {}", milliseconds_text(row.measured.median),
                                accel.other_steps, row.measured.runs));
    line("DRAM", fmt::format("{} read, {} written", driver::bytes_text(accel.dram_read),
                             driver::bytes_text(accel.dram_written)));
  } else {
    line("latency", fmt::format("median of {} runs; 10 % to 90 %: {} to {}", row.measured.runs,
                                milliseconds_text(row.measured.low), milliseconds_text(row.measured.high)));
  }
  line("memory",
       fmt::format("bundle {}, arena {}", driver::bytes_text(row.bundle_bytes), driver::bytes_text(row.arena_bytes)));
  line("energy", row.joules ? fmt::format("{}: {}", joules_text(*row.joules), row.energy_from)
                            : fmt::format("missing: {}", row.energy_from));
  if (row.energy)
    for (const std::string& what : row.energy->energy.missing) line("", "not included: " + what);
  if (row.agreement && !row.agreement->equal()) line("outputs", agreement_text(agreement_json(row)));
  line("work", shares_text(row.shares) + " of the multiplications");
  if (const auto share = accelerator_time_share(row))
    line("time", fmt::format("{:.3g} % accel, {:.3g} % this machine", 100 * *share, 100 * (1 - *share)));
  return text;
}

Json row_json(const driver::ComparedModel& model, const driver::ComparedRow& row) {
  Json json{{"target", row.target}, {"machine", row.machine}, {"available", row.available()}};
  if (!row.available()) {
    json["why"] = row.unavailable;
    json["hint"] = row.hint;
    return json;
  }
  json.update({{"arithmetic", row.arithmetic},
               {"ms", row.seconds * 1e3},
               {"inferences_per_second", row.seconds > 0 ? Json(row.per_second()) : Json()},
               {"speed_up", speed_up(model, row)}});
  json["measured"] = nullptr;
  if (row.measured.runs > 0)
    json["measured"] = {{"runs", row.measured.runs},
                        {"median_ms", row.measured.median * 1e3},
                        {"low_ms", row.measured.low * 1e3},
                        {"high_ms", row.measured.high * 1e3}};
  json["accelerator"] = nullptr;
  if (row.accelerator)
    json["accelerator"] = {{"cycles", row.accelerator->cycles},
                           {"clock_mhz", row.accelerator->clock_mhz},
                           {"beyond_design", row.accelerator->beyond_design},
                           {"ms", row.accelerator->seconds * 1e3},
                           {"memory", row.accelerator->memory},
                           {"dram_read_bytes", row.accelerator->dram_read},
                           {"dram_written_bytes", row.accelerator->dram_written},
                           {"steps", row.accelerator->steps},
                           {"other_steps", row.accelerator->other_steps},
                           {"accelerators", row.accelerator->count},
                           {"split", isa::name(row.accelerator->split)}};
  if (row.accelerator && !row.accelerator->clock_model.empty())
    json["accelerator"]["clock_model"] = row.accelerator->clock_model;
  json["bundle_bytes"] = row.bundle_bytes;
  json["arena_bytes"] = row.arena_bytes;
  json["joules"] = row.joules ? Json(*row.joules) : Json();
  json["energy_from"] = row.energy_from;
  json["energy"] = energy_json(row.energy);
  json["agreement"] = agreement_json(row);
  json["shares"] = row.shares;
  const auto time = accelerator_time_share(row);
  json["time_shares"] = time ? Json{{"accel", *time}, {"this machine", 1 - *time}} : Json(nullptr);
  return json;
}

}  // namespace

std::string shares_text(const std::map<std::string, double>& shares) {
  std::vector<std::pair<double, std::string>> ordered;
  for (const auto& [target, share] : shares) ordered.emplace_back(-share, target);
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (const auto& [share, target] : ordered)
    text += fmt::format("{}{:.3g} % {}", text.empty() ? "" : ", ", -100 * share, target);
  return text.empty() ? "-" : text;
}

std::string agreement_text(const Json& agreement) {
  if (agreement.is_null()) return "-";
  if (agreement.at("equal").get<bool>()) return "equal";
  const Json& largest = agreement.at("largest_difference");
  const auto stepped = agreement.at("stepped").get<std::int64_t>();
  return fmt::format("{} of {} differ, by {:.3g} at most{}{}", agreement.at("different").get<std::uint64_t>(),
                     agreement.at("elements").get<std::uint64_t>(),
                     largest.is_null() ? std::numeric_limits<double>::infinity() : largest.get<double>(),
                     agreement.at("agrees").get<bool>() ? ", within the rounding of floats" : "",
                     stepped > 0 ? fmt::format("; {} one step off after a rounded float",
                                               stepped == 1 ? "1 integer is" : fmt::format("{} integers are", stepped))
                                 : "");
}

std::string comparison_text(const driver::Comparison& comparison, Amount amount) {
  std::string text;
  for (const std::string& input : comparison.inputs) text += entry("input", input);
  for (const driver::ComparedModel& model : comparison.models) {
    text += fmt::format("{}model         {}: {} multiplications{}\n", text.empty() ? "" : "\n", model.file,
                        with_separators(model.macs),
                        model.batch == 1 ? "" : fmt::format(" of a batch of {}; latency is the batch's", model.batch));
    text += fmt::format("reference     {}\n\n", model.reference);
    TextTable table({"target", "machine", ">latency", ">inferences/s", ">speedup", ">energy", "outputs"});
    for (const driver::ComparedRow& row : model.rows) {
      if (!row.available()) {
        table.add({row.target, shortened(row.machine), "-", "-", "-", "-", "not run"});
        continue;
      }
      table.add({row.target, shortened(row.machine), milliseconds_text(row.seconds),
                 rate_text(row.seconds / row.samples()), fmt::format("{:.2f}x", speed_up(model, row)),
                 row.joules ? joules_text(*row.joules) : "-", row.agreement ? agreement_word(*row.agreement) : "-"});
    }
    text += table.to_string() + "\n";
    for (const driver::ComparedRow& row : model.rows)
      if (amount == Amount::details) text += detail_text(row);
      else if (!row.available()) text += entry("not run", row.target + ": " + row.unavailable);
      else if (row.accelerator && !row.accelerator->clock_model.empty())
        text += entry("clock", fmt::format("{}: {:.6g} MHz, {}", shortened(row.machine), row.accelerator->clock_mhz,
                                           row.accelerator->clock_model));
      else if (row.accelerator && !row.accelerator->beyond_design.empty())
        text += entry("clock", fmt::format("{}: {}", shortened(row.machine), row.accelerator->beyond_design));
  }
  if (amount == Amount::summary)
    text += entry("next", "--details has cycles, memory and energy of rows; `dovetail profile` has steps");
  return text;
}

Json comparison_json(const driver::Comparison& comparison) {
  Json models = Json::array();
  for (const driver::ComparedModel& model : comparison.models) {
    Json rows = Json::array();
    for (const driver::ComparedRow& row : model.rows) rows.push_back(row_json(model, row));
    models.push_back({{"file", model.file},
                      {"batch", model.batch},
                      {"macs", model.macs},
                      {"reference", model.reference},
                      {"rows", rows}});
  }
  return {{"kind", "comparison"},
          {"threads", comparison.threads},
          {"inputs", comparison.inputs},
          {"models", std::move(models)}};
}

}  // namespace dovetail::cli
