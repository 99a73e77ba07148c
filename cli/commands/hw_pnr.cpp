#include "cli/commands/hw_pnr.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/text_table.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "driver/compile_model.h"
#include "driver/hardware_pnr.h"
#include "driver/names.h"
#include "isa/system.h"

namespace dovetail::cli {

namespace {

constexpr double kCoreTargetMhz = 60, kBoardTargetMhz = 40, kLeastTargetMhz = 4, kMostTargetMhz = 400;
constexpr std::int64_t kMostSeed = 1'000'000'000, kMostRamKib = 256;

Diagnostic bad_usage(std::string where, std::string why, std::string hint) {
  return {"bad usage of `dovetail hw pnr`", std::move(where), std::move(why), std::move(hint)};
}

Result<driver::PnrOptions> options_of(const PnrArguments& arguments) {
  driver::PnrOptions options{.target_mhz = arguments.core ? kCoreTargetMhz : kBoardTargetMhz};
  if (!arguments.flow.empty() && arguments.flow != driver::kPnrFlow)
    return bad_usage(arguments.flow, "the flow ecp5 alone places", "remove --flow");
  if (arguments.core && (arguments.constraints || arguments.ram))
    return bad_usage(arguments.constraints ? "--constraints" : "--ram", "--core has no board",
                     "remove one of the two options");
  if (!arguments.seeds.empty()) options.seeds.clear();
  for (const std::string& text : arguments.seeds) {
    DOVETAIL_ASSIGN(const std::int64_t seed, parse_count("--seed", text, 0, kMostSeed));
    if (std::ranges::find(options.seeds, seed) != options.seeds.end())
      return bad_usage(fmt::format("--seed {}", seed), "the seed is given twice", "name each seed once");
    options.seeds.push_back(seed);
  }
  if (arguments.freq) {
    const std::string& text = *arguments.freq;
    const char* const end_of_text = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), end_of_text, options.target_mhz);
    if (error != std::errc{} || end != end_of_text ||
        !(options.target_mhz >= kLeastTargetMhz && options.target_mhz <= kMostTargetMhz))
      return Diagnostic{"invalid value for --freq", text,
                        fmt::format("the clock must be a number from {} to {}", kLeastTargetMhz, kMostTargetMhz),
                        "write MHz, for example --freq 50"};
  }
  if (!arguments.core) {
    DOVETAIL_ASSIGN(options.board, driver::read_board(arguments.constraints.value_or("")));
    if (arguments.ram) {
      DOVETAIL_ASSIGN(const std::int64_t kib, parse_count("--ram", *arguments.ram, 1, kMostRamKib));
      if (!std::has_single_bit(static_cast<std::uint64_t>(kib)))
        return Diagnostic{"invalid value for --ram", *arguments.ram, "the size of the RAM must be a power of two",
                          "write KiB: 64, 128 or 256"};
      options.board->ram_bytes = 1024 * kib;
    }
  }
  return options;
}

std::string block_text(const driver::PnrStep& step) {
  return step.path.empty() ? step.module : fmt::format("{} ({})", step.path, step.module);
}

std::string path_text(const driver::PnrPath& path) {
  TextTable table({"block", "signal", ">logic, ns", ">routing, ns"});
  for (const driver::PnrStep& step : path.steps)
    table.add({block_text(step), step.signal.empty() ? "-" : step.signal, fmt::format("{:.2f}", step.logic_ns),
               fmt::format("{:.2f}", step.routing_ns)});
  return fmt::format("critical path: {:.2f} ns of logic, {:.2f} ns of routing, from {} to {}\n\n{}", path.logic_ns,
                     path.routing_ns, path.from, path.to, table.to_string(0));
}

std::string number(std::int64_t value) { return value == 0 ? "-" : with_separators(static_cast<std::uint64_t>(value)); }

std::string blocks_text(const driver::Area& area, bool all) {
  std::vector<std::string> headers = {"block"};
  const std::vector<driver::AreaResource> resources = driver::area_resources(area.flow);
  for (const driver::AreaResource& resource : resources) headers.push_back(fmt::format(">{}", resource.title));
  TextTable table(std::move(headers));
  const auto depth_of = [](const driver::AreaRow& row) {
    return row.path.empty() ? 0 : 1 + std::ranges::count(row.path, '/');
  };
  // Of a board, the accelerator is a block in others.
  const auto core = std::ranges::find(area.rows, "dovetail_top", &driver::AreaRow::module);
  const auto most_depth = 2 + (core == area.rows.end() ? 0 : depth_of(*core));
  for (const driver::AreaRow& row : area.rows) {
    const auto depth = depth_of(row);
    if (!all && depth > most_depth) continue;
    std::vector<std::string> cells = {std::string(2 * static_cast<std::size_t>(depth), ' ') +
                                      (row.path.empty() ? row.module : row.path.substr(row.path.rfind('/') + 1))};
    for (const std::int64_t used : row.used) cells.push_back(number(used));
    table.add(std::move(cells));
  }
  return fmt::format("{}\n{}\n", table.to_string(0), driver::area_note(area.flow));
}

std::string report_text(const driver::Pnr& pnr, const std::string& fresh, bool all) {
  const driver::PnrRun& best = pnr.best();
  std::string text =
      fmt::format("placed        {}, {}, on {}\nclock         {:.1f} MHz after routing, seed {}{}\n", pnr.area.config,
                  pnr.board.empty() ? "the accelerator alone, without pins" : fmt::format("board {}", pnr.board),
                  pnr.device, best.clock_mhz, best.seed,
                  pnr.board.empty() ? fmt::format("; the placer aimed for {:g} MHz", pnr.target_mhz)
                                    : fmt::format("; the board runs at {:g} MHz", pnr.target_mhz));
  if (pnr.runs.size() > 1) {
    std::vector<std::string> seeds;
    for (const driver::PnrRun& run : pnr.runs)
      seeds.push_back(fmt::format("{:.1f} (seed {})", run.clock_mhz, run.seed));
    text += fmt::format("seeds         {} MHz\n", fmt::join(seeds, ", "));
  }
  text += fmt::format("tools         {}, {}; {}{}\n\n", pnr.area.tool, pnr.placer, pnr.date, fresh);
  TextTable device({"of the device", ">used", ">available", ">share"});
  for (const driver::PnrUse& use : pnr.used)
    device.add({fmt::format("{} ({})", use.title, use.cell), number(use.used), number(use.available),
                fmt::format("{:.1f} %", 100.0 * static_cast<double>(use.used) / static_cast<double>(use.available))});
  return fmt::format("{}{}\n{}\n{}", text, device.to_string(0), path_text(best.critical), blocks_text(pnr.area, all));
}

// Writes the files of a run. Returns the lines about them.
Result<std::string> write_files(const std::filesystem::path& folder, const driver::PnrMade& made) {
  std::vector<std::string> names;
  const auto write = [&](const std::string& name, const std::string& text) -> Result<void> {
    if (text.empty()) return {};
    DOVETAIL_TRY(write_text_file(folder / name, text));
    names.push_back((folder / name).string());
    return {};
  };
  const std::string bitstream = driver::plain_name(made.pnr.area.config) + ".bit";
  std::error_code ignored;
  // That of an earlier run is not of this result.
  if (made.files.bitstream.empty()) std::filesystem::remove(folder / bitstream, ignored);
  DOVETAIL_TRY(write(bitstream, made.files.bitstream));
  DOVETAIL_TRY(write("pnr.json", driver::pnr_to_json(made.pnr).dump(1) + "\n"));
  DOVETAIL_TRY(write("nextpnr.json", made.files.report));
  DOVETAIL_TRY(write("nextpnr.log", made.files.log));
  return fmt::format("written       {}\n", fmt::join(names, ", "));
}

Result<std::filesystem::path> out_folder(const PnrArguments& arguments, const isa::HardwareConfig& config,
                                         const driver::PnrOptions& options) {
  std::filesystem::path folder = arguments.out.value_or(
      fmt::format("{}-{}", driver::plain_name(config.name), options.board ? options.board->name : "core"));
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error)
    return Diagnostic{"cannot create folder", folder.string(), error.message(), "choose another folder for --out"};
  return folder;
}

}  // namespace

Result<Exit> place_and_route(const PnrArguments& arguments) {
  DOVETAIL_ASSIGN(const isa::Machine machine,
                  isa::load_uniform_machine(arguments.config.empty() ? driver::kDefaultHardware : arguments.config,
                                            "place and route"));
  const isa::HardwareConfig& config = machine.hardware;
  DOVETAIL_ASSIGN(driver::PnrOptions options, options_of(arguments));
  const bool as_kept = arguments.core && !arguments.run && !arguments.out && !arguments.freq && arguments.seeds.empty();
  if (as_kept) {
    DOVETAIL_ASSIGN(const std::optional<driver::CommittedPnr> kept, driver::committed_pnr(config));
    if (kept) {
      const std::string stale =
          kept->fresh ? "" : "; STALE: the design or the flow has changed since; --run places again";
      if (arguments.json) {
        if (!stale.empty()) print_message("{}: made {}{}\n", config.name, kept->pnr.date, stale);
        print_json(driver::pnr_to_json(kept->pnr));
      } else {
        print("{}", report_text(kept->pnr, stale, arguments.all));
      }
      return Exit::success;
    }
  }
  std::optional<std::filesystem::path> folder;
  if (!arguments.core || arguments.out) {
    if (std::string beyond = driver::beyond_device(config); beyond.empty()) {
      DOVETAIL_ASSIGN(folder, out_folder(arguments, config, options));
    }
  }
  RunningStep step;
  options.begin = [&](const std::string& text) { step.begin(text); };
  DOVETAIL_ASSIGN(const driver::PnrMade made, driver::run_pnr(config, options));
  step.end();
  std::string written;
  if (folder) {
    DOVETAIL_ASSIGN(written, write_files(*folder, made));
  }
  const bool meets = driver::meets_clock(made.pnr);
  if (arguments.json) print_json(driver::pnr_to_json(made.pnr));
  else print("{}\n{}", report_text(made.pnr, "", arguments.all), written);
  if (!meets)
    print_message(
        "{}: {:.1f} MHz is below the {:g} MHz of the board, so that no bitstream was written: lower --freq, or try "
        "other "
        "seeds (--seed)\n",
        config.name, made.pnr.best().clock_mhz, made.pnr.target_mhz);
  return meets ? Exit::success : Exit::failed;
}

}  // namespace dovetail::cli
