
#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/program/program_file.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/compile_model.h"
#include "isa/text.h"

namespace dovetail::cli {

namespace {

class Disasm : public Command {
 public:
  void declare(Options& options) override {
    options.positional("P.bin", program_, "raw instructions, 16 bytes each (32 in the wide encoding)", Need::required,
                       File::read);
    options.value("--hw", "CONFIG", hardware_, fmt::format("{} (default {})", kHardwareHelp, driver::kDefaultHardware),
                  Need::optional, File::read);
    options.value("-o", "FILE.s", output_, "write the text to this file instead of printing it", File::written_text);
    options.json(json_, "print the instructions as JSON");
    options.footer("Example: dovetail disasm kernel.bin --hw 1x16x16");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
    DOVETAIL_ASSIGN(const auto program, read_program(program_, config));
    const std::string text = isa::format_assembly(config, program);
    if (output_) DOVETAIL_TRY(write_result_text(*output_, text));
    if (json_) print_json(report(config, program));
    else if (!output_) write_result(text);
    return Exit::success;
  }

 private:
  Json report(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program) const {
    Json lines = Json::array();
    for (const isa::Instruction& instruction : program) lines.push_back(isa::format_instruction(instruction));
    return {{"kind", "disasm"}, {"program", program_}, {"config", config.name}, {"instructions", lines}};
  }

  std::string program_, hardware_ = driver::kDefaultHardware;
  std::optional<std::string> output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_disasm() { return std::make_unique<Disasm>(); }

}  // namespace dovetail::cli
