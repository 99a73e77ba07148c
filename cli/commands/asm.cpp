#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/program/program_file.h"
#include "cli/program/program_image.h"
#include "cli/program/program_input.h"
#include "cli/program/program_map.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/compile_model.h"
#include "driver/value_text.h"
#include "isa/codec.h"
#include "isa/text.h"

namespace dovetail::cli {

namespace {

class Asm : public Command {
 public:
  void declare(Options& options) override {
    options.positional("FILE.s", source_,
                       "assembly text (docs/howto/assembly.md; `dovetail isa --format markdown` has the grammar)",
                       Need::required, File::read);
    options.value("-o", "P.bin", output_, "write the raw instructions", Need::required, File::written);
    options.value("--uops", "OUT.bin", uops_, "write the micro-ops of the .uop lines, to be placed in the memory image",
                  File::written);
    options.value("--image", "IMG.bin", image_, "write the memory image: .uop, .data and .space lines", File::written);
    options.value(
        "--map", "MAP.json", map_,
        "write the addresses of all data and the source line of each instruction, for --map of other commands",
        File::written_text);
    options.value("--hw", "CONFIG", hardware_,
                  fmt::format("{}; a .config line must agree (default {})", kHardwareHelp, driver::kDefaultHardware),
                  File::read);
    options.json(json_);
    options.footer(
        "Example: dovetail asm kernel.s -o kernel.bin --uops kernel_uops.bin --hw 1x16x16\n"
        "         dovetail asm kernel.s -o kernel.bin --image kernel_image.bin --map kernel.json");
  }

  Result<Exit> run() override {
    std::optional<isa::HardwareConfig> expected;
    if (hardware_) {
      DOVETAIL_ASSIGN(expected, isa::load_config(*hardware_));
    }
    DOVETAIL_ASSIGN(const isa::Assembly assembly, read_assembly(source_, expected));
    DOVETAIL_TRY(check(assembly));
    const isa::Codec codec(assembly.config);
    DOVETAIL_ASSIGN(const auto program, codec.encode_program(assembly.program));
    std::vector<std::byte> uops;
    for (const isa::Uop& uop : assembly.uops) DOVETAIL_TRY(codec.encode(uop, uops));
    DOVETAIL_ASSIGN(const simulator::Dram image, image_of(assembly, source_));
    DOVETAIL_TRY(write_result_file(output_, program));
    print("assembled     {}: {} instructions, {} bytes, configuration {}\n", output_, assembly.program.size(),
          program.size(), assembly.config.name);
    if (uops_) {
      DOVETAIL_TRY(write_result_file(*uops_, uops));
      print("micro-ops     {}: {}, {} bytes\n", *uops_, assembly.uops.size(), uops.size());
    }
    if (image_) {
      DOVETAIL_TRY(write_image(*image_, image));
      print("image         {}: {} bytes from {:#x}\n", *image_, image.bytes.size(), image.base);
    }
    if (map_) {
      DOVETAIL_TRY(write_result_text(*map_, driver::json_text(to_json(map_of(assembly, source_, image)))));
      print("map           {}: {} names\n", *map_, assembly.symbols.size());
    }
    if (json_) print_json(report(assembly, program.size(), image));
    return Exit::success;
  }

 private:
  Json report(const isa::Assembly& assembly, std::size_t bytes, const simulator::Dram& image) const {
    const auto file = [](const std::optional<std::string>& path) { return path ? Json(*path) : Json(nullptr); };
    return {{"kind", "asm"},
            {"source", source_},
            {"config", assembly.config.name},
            {"file", output_},
            {"instructions", assembly.program.size()},
            {"bytes", bytes},
            {"uops", {{"file", file(uops_)}, {"count", assembly.uops.size()}}},
            {"image", {{"file", file(image_)}, {"base", image.base}, {"bytes", image.bytes.size()}}},
            {"map", {{"file", file(map_)}, {"names", assembly.symbols.size()}}}};
  }

  // Error: some lines of the file would not be written anywhere, or an output was requested for which it has no lines.
  Result<void> check(const isa::Assembly& assembly) const {
    const auto wrong = [&](std::string why, std::string hint) {
      return Diagnostic{"cannot assemble", source_, std::move(why), std::move(hint)};
    };
    if (assembly.program.empty() && assembly.image.empty())
      return wrong("the file has neither an instruction nor a .uop line", "check that it is the right file");
    const bool only_uops = std::all_of(assembly.image.begin(), assembly.image.end(),
                                       [](const isa::ImageItem& item) { return item.is_uops; });
    if (!assembly.image.empty() && !image_ && !(only_uops && uops_))
      return wrong(only_uops ? fmt::format("the {} .uop lines would be lost", assembly.uops.size())
                             : "the .data and .space lines would be lost",
                   only_uops ? "add --uops OUT.bin, or --image IMG.bin" : "add --image IMG.bin");
    if (assembly.image.empty() && image_)
      return wrong("--image is given, but there is no .uop, .data or .space line", "remove --image, or add such lines");
    if (assembly.uops.empty() && uops_)
      return wrong("--uops is given, but there is no .uop line", "remove --uops, or add .uop lines");
    return {};
  }

  std::string source_, output_;
  std::optional<std::string> uops_, image_, map_, hardware_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_asm() { return std::make_unique<Asm>(); }

}  // namespace dovetail::cli
