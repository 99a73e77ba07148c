#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/program/program_file.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/compile_model.h"
#include "isa/emit/emit.h"

namespace dovetail::cli {

namespace {

struct Format {
  std::string_view name;
  std::string (*emit)(const isa::HardwareConfig& config);
};
constexpr std::array<Format, 10> kFormats{{{"markdown", isa::emit_markdown},
                                           {"sv", isa::emit_sv_package},
                                           {"json", isa::emit_json},
                                           {"c", isa::emit_c_header},
                                           {"python", isa::emit_python},
                                           {"schema", isa::emit_schema},
                                           {"litex", isa::emit_litex},
                                           {"vivado-top", isa::emit_vivado_top},
                                           {"vivado-tcl", isa::emit_vivado_script},
                                           {"devicetree", isa::emit_device_tree}}};

class Isa : public Command {
 public:
  void declare(Options& options) override {
    options
        .value("--format", "FORMAT", format_,
               "markdown: the manual; sv: SystemVerilog package; c: header; python: encoders; json: everything; "
               "schema: JSON Schema of the parameters; litex: core of LiteX; vivado-top, vivado-tcl, devicetree: files "
               "for "
               "a Zynq, not run here")
        .choices(format_names());
    options.json(json_, "the same as --format json");
    options.value("--hw", "CONFIG", hardware_, fmt::format("{} (default {})", kHardwareHelp, driver::kDefaultHardware),
                  Need::optional, File::read);
    options.value("-o", "FILE", output_, "write to this file instead of printing", File::written_text);
    options.footer("Example: dovetail isa --format sv --hw 1x32x32 -o dovetail_isa_pkg.sv");
  }

  Result<Exit> run() override {
    if (json_ && format_.empty()) format_ = "json";
    if (format_.empty())
      return Diagnostic{"bad usage of `dovetail isa`", "--format", "the option is missing",
                        fmt::format("give one of {}", fmt::join(format_names(), ", "))};
    if (json_ && format_ != "json")
      return Diagnostic{"bad usage of `dovetail isa`", "--json", fmt::format("--format requests {}", format_),
                        "remove one of the two options"};
    for (const Format& format : kFormats) {
      if (format.name != format_) continue;
      DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
      const std::string text = format.emit(config);
      if (output_) DOVETAIL_TRY(write_result_text(*output_, text));
      else write_result(text);
      return Exit::success;
    }
    return Diagnostic{"invalid value for --format", format_, "there is no format of this name",
                      fmt::format("the formats are {}", fmt::join(format_names(), ", "))};
  }

 private:
  static std::vector<std::string> format_names() {
    std::vector<std::string> names;
    for (const Format& format : kFormats) names.emplace_back(format.name);
    return names;
  }

  std::string format_, hardware_ = driver::kDefaultHardware;
  std::optional<std::string> output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_isa() { return std::make_unique<Isa>(); }

}  // namespace dovetail::cli
