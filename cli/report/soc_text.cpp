#include "cli/report/soc_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "base/text_table.h"
#include "driver/value_text.h"
#include "simulator/memory/memory.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kShownLaunches = 8;

std::string launches_text(const driver::SocRun& run) {
  std::string text;
  for (std::size_t i = 0; i < std::min(run.launches.size(), kShownLaunches); ++i) {
    const driver::SocLaunch& launch = run.launches[i];
    std::string other;
    if (launch.expected == launch.cycles) other = ", as on the cycle engine";
    else if (launch.expected) other = fmt::format(", {} on the cycle engine", with_separators(*launch.expected));
    text += fmt::format("launch {:<6} instructions {} to {}: {} cycles{}\n", i + 1, launch.begin,
                        launch.begin + launch.count - 1, with_separators(launch.cycles), other);
  }
  if (run.launches.size() > kShownLaunches) {
    const auto equal = std::ranges::count_if(
        run.launches, [](const driver::SocLaunch& launch) { return launch.expected == launch.cycles; });
    text +=
        fmt::format("launches      {}, {} of them with the cycles of the cycle engine\n", run.launches.size(), equal);
  }
  return text;
}

}  // namespace

std::string soc_text(const SocFacts& facts) {
  const driver::SocRun& run = facts.run;
  std::string text = fmt::format("model         {}\nsystem        PicoRV32 and {} ({})\n", facts.model,
                                 run.hardware.name, facts.engine);
  text += fmt::format("memory        {}, {}\n", simulator::to_string(run.memory), driver::bytes_text(run.memory_bytes));
  text += fmt::format("firmware      {}, waits by {}\n", driver::bytes_text(run.firmware_bytes),
                      facts.wait == "poll" ? "polling" : facts.wait);
  for (const std::string& input : run.inputs) text += fmt::format("input         {}\n", input);
  text += launches_text(run);
  text += fmt::format("interrupts    {}\n", run.interrupts);
  text += fmt::format("processor     {} cycles: {} to load the program, {} for its run, {} asleep\n",
                      with_separators(run.cycles), with_separators(run.load_cycles), with_separators(run.run_cycles),
                      with_separators(run.waiting));
  for (const driver::SocOutput& output : run.outputs)
    text += fmt::format(
        "output        {} {}: {}\n", output.name, driver::type_text(output.found.dtype(), output.found.shape()),
        output.different == 0 ? std::string("all bits are those of the reference")
                              : fmt::format("{} of {} elements differ", output.different, output.found.count()));
  if (run.status.result != 0)
    text += fmt::format("end           {}{}\n", run.status.text,
                        run.status.detail.empty() ? "" : fmt::format(": {}", run.status.detail));
  text += fmt::format("time          {} of simulation\n", driver::seconds_text(run.seconds));
  return text;
}

Json soc_json(const SocFacts& facts) {
  const driver::SocRun& run = facts.run;
  Json launches = Json::array(), outputs = Json::array();
  for (const driver::SocLaunch& launch : run.launches)
    launches.push_back({{"begin", launch.begin},
                        {"count", launch.count},
                        {"cycles", launch.cycles},
                        {"expected_cycles", launch.expected ? Json(*launch.expected) : Json()}});
  for (const driver::SocOutput& output : run.outputs)
    outputs.push_back({{"name", output.name},
                       {"dtype", std::string(name(output.found.dtype()))},
                       {"shape", output.found.shape()},
                       {"elements", output.found.count()},
                       {"different", output.different}});
  return {{"kind", "soc"},
          {"model", facts.model},
          {"hardware", run.hardware.name},
          {"engine", facts.engine},
          {"memory", simulator::to_string(run.memory)},
          {"memory_bytes", run.memory_bytes},
          {"firmware_bytes", run.firmware_bytes},
          {"wait", facts.wait},
          {"inputs", run.inputs},
          {"launches", launches},
          {"interrupts", run.interrupts},
          {"cycles", run.cycles},
          {"load_cycles", run.load_cycles},
          {"run_cycles", run.run_cycles},
          {"waiting_cycles", run.waiting},
          {"outputs", outputs},
          {"status", {{"result", run.status.result}, {"text", run.status.text}, {"detail", run.status.detail}}},
          {"right", run.is_right()},
          {"seconds", run.seconds}};
}

std::string soc_boot_text(const SocBootFacts& facts) {
  const driver::SocBoot& boot = facts.boot;
  std::string text = fmt::format("program       {}, {}\nsystem        PicoRV32 and {} ({})\n", facts.program,
                                 driver::bytes_text(boot.firmware_bytes), facts.hardware, facts.engine);
  text += fmt::format("memory        {}, {}\n", facts.memory, driver::bytes_text(boot.memory_bytes));
  std::string_view rest = boot.serial;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    text += fmt::format("serial        {}\n", printable(line));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  text +=
      fmt::format("processor     {} cycles, {} asleep\n", with_separators(boot.cycles), with_separators(boot.waiting));
  return text + fmt::format("time          {} of simulation\n", driver::seconds_text(boot.seconds));
}

Json soc_boot_json(const SocBootFacts& facts) {
  const driver::SocBoot& boot = facts.boot;
  return {{"kind", "soc-boot"},
          {"program", facts.program},
          {"hardware", facts.hardware},
          {"engine", facts.engine},
          {"memory", facts.memory},
          {"memory_bytes", boot.memory_bytes},
          {"firmware_bytes", boot.firmware_bytes},
          {"serial", printable(boot.serial, Lines::keep)},
          {"status", boot.status},
          {"cycles", boot.cycles},
          {"waiting_cycles", boot.waiting},
          {"seconds", boot.seconds}};
}

}  // namespace dovetail::cli
