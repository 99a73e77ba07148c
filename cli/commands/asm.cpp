
#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "isa/codec.h"
#include "isa/text.h"

namespace dovetail::cli {

namespace {

class Asm : public Command {
 public:
  void declare(Options& options) override {
    options.positional("FILE.s", source_, "assembly text (`dovetail isa --format markdown` has the grammar)",
                       Need::required, File::read);
    options.value("-o", "P.bin", output_, "write the raw instructions", Need::required, File::written);
    options.value("--uops", "OUT.bin", uops_, "write the micro-ops of the .uop lines, to be placed in the memory image",
                  File::written);
    options.value("--hw", "CONFIG", hardware_,
                  fmt::format("{}; a .config line must agree (default {})", kHardwareHelp, kDefaultHardware),
                  File::read);
    options.footer("Example: dovetail asm kernel.s -o kernel.bin --uops kernel_uops.bin --hw 1x16x16");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const std::string text, read_text_file(source_));
    std::optional<isa::HardwareConfig> expected;
    if (hardware_) {
      DOVETAIL_ASSIGN(expected, isa::load_config(*hardware_));
    }
    DOVETAIL_ASSIGN(const isa::Assembly assembly, isa::parse_assembly(text, source_, expected));
    if (assembly.program.empty() && assembly.uops.empty())
      return Diagnostic{"cannot assemble", source_, "it has neither an instruction nor a .uop line",
                        "is it the right file?"};
    if (!assembly.uops.empty() && !uops_)
      return Diagnostic{"cannot assemble", source_,
                        fmt::format("its {} .uop lines would be lost", assembly.uops.size()), "add --uops OUT.bin"};
    if (assembly.uops.empty() && uops_)
      return Diagnostic{"cannot assemble", source_, "--uops is given, but there is no .uop line",
                        "drop --uops, or add .uop lines"};

    const isa::Codec codec(assembly.config);
    DOVETAIL_ASSIGN(const auto program, codec.encode_program(assembly.program));
    std::vector<std::byte> uops;
    for (const isa::Uop& uop : assembly.uops) DOVETAIL_TRY(codec.encode(uop, uops));
    DOVETAIL_TRY(write_file(output_, program));
    print("assembled     {}: {} instructions, {} bytes, configuration {}\n", output_, assembly.program.size(),
          program.size(), assembly.config.name);
    if (uops_) {
      DOVETAIL_TRY(write_file(*uops_, uops));
      print("micro-ops     {}: {}, {} bytes\n", *uops_, assembly.uops.size(), uops.size());
    }
    return Exit::success;
  }

 private:
  std::string source_, output_;
  std::optional<std::string> uops_, hardware_;
};

}  // namespace

std::unique_ptr<Command> make_asm() { return std::make_unique<Asm>(); }

}  // namespace dovetail::cli
