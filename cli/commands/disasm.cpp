
#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "isa/text.h"

namespace dovetail::cli {

namespace {

class Disasm : public Command {
 public:
  void declare(Options& options) override {
    options.positional("P.bin", program_, "raw instructions, 16 bytes each (32 in the wide encoding)", Need::required,
                       File::read);
    options.value("--hw", "CONFIG", hardware_, fmt::format("{} (default {})", kHardwareHelp, kDefaultHardware),
                  Need::optional, File::read);
    options.value("-o", "FILE.s", output_, "write the text there instead of printing it", File::written);
    options.footer("Example: dovetail disasm kernel.bin --hw 1x16x16");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
    DOVETAIL_ASSIGN(const auto program, read_program(program_, config));
    const std::string text = isa::format_assembly(config, program);
    if (output_) DOVETAIL_TRY(write_text_file(*output_, text));
    else print("{}", text);
    return Exit::success;
  }

 private:
  std::string program_, hardware_ = kDefaultHardware;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_disasm() { return std::make_unique<Disasm>(); }

}  // namespace dovetail::cli
