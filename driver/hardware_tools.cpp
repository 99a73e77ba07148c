#include "driver/hardware_tools.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/child_process.h"
#include "base/result.h"
#include "driver/firmware.h"
#include "driver/hardware_pnr.h"
#include "simulator/rtl/build.h"
#include "simulator/soc/system.h"

namespace dovetail::driver {

namespace {

std::string joined(const Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems)
    lines.push_back(fmt::format("{}: {} ({})", problem.where, problem.why, problem.hint));
  return fmt::format("{}", fmt::join(lines, "; "));
}

void add(Diagnostics& to, const Diagnostics& problems) { to.insert(to.end(), problems.begin(), problems.end()); }

Diagnostic not_on_path(std::string_view program) {
  return {"", std::string(program), "it is not on the PATH", fmt::format("sudo apt-get install {}", program)};
}

std::string missing_for_systems() {
  Diagnostics problems;
  if (const auto tool = simulator::missing_rtl_tool()) problems.push_back(not_on_path(*tool));
  if (const auto core = simulator::soc::find_core(); !core.ok()) add(problems, core.errors());
  if (const auto tools = check_firmware_tools(); !tools.ok()) add(problems, tools.errors());
  return joined(problems);
}

std::string missing_for_placing() {
  Diagnostics problems;
  if (!is_on_path("yosys")) problems.push_back(not_on_path("yosys"));
  add(problems, missing_pnr_tools());
  return joined(problems);
}

}  // namespace

std::vector<HardwareFlow> hardware_flows() {
  return {{"system on chip", "`dovetail soc`: Verilator, PicoRV32, riscv64-unknown-elf-gcc and picolibc",
           missing_for_systems()},
          {"place and route", "`dovetail hw pnr`: Yosys, nextpnr-ecp5 and ecppack", missing_for_placing()}};
}

}  // namespace dovetail::driver
