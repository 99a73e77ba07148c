#include <cstdio>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/program_file.h"
#include "cli/text.h"
#include "isa/config.h"
#include "isa/spec/memories.h"

namespace dovetail::cli {

namespace {

const char* encoding_text(const isa::HardwareConfig& config) {
  return config.encoding() == isa::Encoding::wide ? "wide" : "compact";
}

class Hw : public Command {
 public:
  void declare(Options& options) override {
    options.positional("ACTION", action_,
                       "list: the named configurations; show: one of them, or a file, with what follows from it");
    options.positional("CONFIG", config_, fmt::format("for show: {} (default {})", kHardwareHelp, kDefaultHardware),
                       Need::optional);
    options.flag("--json", json_, "print JSON; of show: a file that --hw takes");
    options.footer(
        "A configuration of your own: dovetail hw show 1x16x16 --json > mine.json, change a number, give --hw "
        "mine.json.\n"
        "Example: dovetail hw show 1x16x16-ext");
  }

  Result<Exit> run() override {
    if (action_ == "show") return show();
    if (action_ == "list" && config_.empty()) return list();
    if (action_ == "area")
      return Diagnostic{"bad usage of `dovetail hw`", "area",
                        "it is not available in this version: there is no area model yet", "use list or show"};
    return Diagnostic{"bad usage of `dovetail hw`", action_ + (config_.empty() ? "" : " " + config_),
                      "the actions are list and show CONFIG", "see `dovetail hw --help`"};
  }

 private:
  Exit list() const {
    if (json_) {
      Json configs = Json::array();
      for (const isa::HardwareConfig& config : isa::named_configs()) configs.push_back(isa::config_to_json(config));
      fmt::print("{}", json_text(configs));
      return Exit::success;
    }
    TextTable table(
        {"name", ">batch", ">in", ">out", ">UOP", ">INP", ">WGT", ">ACC", ">MACs/uop", "encoding", "extensions"});
    for (const isa::HardwareConfig& config : isa::named_configs()) {
      const auto size = [](std::int64_t bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); };
      table.add({config.name, fmt::format("{}", config.batch), fmt::format("{}", config.block_in),
                 fmt::format("{}", config.block_out), size(config.uop_buffer_bytes), size(config.inp_buffer_bytes),
                 size(config.wgt_buffer_bytes), size(config.acc_buffer_bytes), fmt::format("{}", config.macs_per_uop()),
                 encoding_text(config), extensions_text(config).empty() ? "-" : extensions_text(config)});
    }
    fmt::print("{}", table.to_string(0));
    return Exit::success;
  }

  Result<Exit> show() const {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(config_.empty() ? kDefaultHardware : config_));
    const Json parameters = isa::config_to_json(config);
    if (json_) {
      fmt::print("{}", json_text(parameters));
      return Exit::success;
    }
    TextTable table({"parameter", ">value"});
    for (const auto& [key, value] : parameters.items())
      table.add({key, value.is_string() ? value.get<std::string>() : value.dump()});
    fmt::print("{}\n", table.to_string(0));
    fmt::print("encoding: {}, {} bytes an instruction, {} a micro-op; {} MACs a GEMM micro-op\n\n",
               encoding_text(config), config.instruction_bytes(), config.uop_bytes(), config.macs_per_uop());
    TextTable memories({"memory", ">element bytes", ">depth"});
    for (const isa::spec::MemoryInfo& memory : isa::spec::kMemories)
      memories.add({std::string(memory.name), fmt::format("{}", config.element_bytes(memory.id)),
                    fmt::format("{}", config.depth(memory.id))});
    fmt::print("{}", memories.to_string(0));
    return Exit::success;
  }

  std::string action_, config_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_hw() { return std::make_unique<Hw>(); }

}  // namespace dovetail::cli
