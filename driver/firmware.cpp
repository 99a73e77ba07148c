#include "driver/firmware.h"

#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/kit_folder.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::driver {

namespace fs = std::filesystem;
namespace soc = simulator::soc;

namespace {

constexpr std::string_view kCompiler = "riscv64-unknown-elf-gcc";
// What the processor of hw/soc runs, with the C library picolibc; own start, own linker script.
constexpr std::string_view kProcessor = "--specs=picolibc.specs -march=rv32im -mabi=ilp32";
constexpr std::uint32_t kStackBytes = 65536;

Diagnostic missing(std::string_view what) {
  return {"cannot build firmware", std::string(what), "it is not installed",
          "sudo apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"};
}

// An array with the bytes, aligned to 8.
std::string array_text(std::string_view kind, std::size_t index, std::span<const std::byte> bytes) {
  std::string text = fmt::format("static const uint64_t {}_{}[] = {{", kind, index);
  for (std::size_t i = 0; i < bytes.size() || i == 0; i += 8) {
    std::uint64_t word = 0;
    if (i < bytes.size()) std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    text += fmt::format("{}UINT64_C({:#x}),", i % 32 == 0 ? "\n  " : " ", word);
  }
  return text + "\n};\n";
}

// The one part of the firmware that depends on the model.
std::string model_text(const Exported& exported) {
  const exporting::Plan& plan = exported.plan;
  std::string text =
      "/* Runs the exported program on the inputs of its test, by `dovetail soc run`. */\n"
      "#include \"net.h\"\n#include \"soc.h\"\n\n";
  std::vector<std::string> given, found, print;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    text += array_text("given", i, exported.golden.inputs.at(plan.inputs[i].tensor).bytes());
    given.push_back(fmt::format("(const void*)given_{}", i));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::size_t bytes = exported.golden.outputs.at(plan.outputs[i].tensor).bytes().size();
    text += fmt::format("static uint64_t found_{}[{}];\n", i, bytes / 8 + 1);
    found.push_back(fmt::format("(void*)found_{}", i));
    print.push_back(fmt::format("    soc_print_output(\"{0}\", found_{0}, {1});\n", i, bytes));
  }
  const auto list = [](const std::vector<std::string>& items) {
    return items.empty() ? std::string("0") : fmt::format("{}", fmt::join(items, ", "));
  };
  return text + fmt::format(R"(static uint64_t arena[NET_ARENA_BYTES / 8 + 1];

int soc_run_model(struct dovetail_machine* machine) {{
  const struct net_inputs inputs = {{{}}};
  const struct net_outputs outputs = {{{}}};
  int result = net_load(machine);
  soc_print_step("load", result);
  if (result == 0) {{
    result = net_run(machine, &inputs, &outputs, arena);
    soc_print_step("run", result);
  }}
  if (result == 0) {{
{}  }}
  return result;
}}
)",
                            list(given), list(found), fmt::join(print, ""));
}

Result<void> copy_sources(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(from, error))
    return Diagnostic{"cannot build firmware", from.string(), "the folder with the firmware's sources is missing",
                      kKitHint};
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    fs::copy_file(entry.path(), to / entry.path().filename(), fs::copy_options::overwrite_existing, error);
    if (error) break;
  }
  if (error)
    return Diagnostic{"cannot build firmware", to.string(), error.message(), "choose a folder that can be written"};
  return {};
}

}  // namespace

Result<void> check_firmware_tools() {
  if (!is_on_path(kCompiler)) return missing(kCompiler);
  DOVETAIL_ASSIGN(const auto library,
                  output_of(fmt::format("exec {} -print-file-name=picolibc.specs 2>/dev/null", kCompiler)));
  if (!library || !library->starts_with("/")) return missing("picolibc");
  return {};
}

Result<std::vector<std::byte>> build_firmware(const Exported& exported, const FirmwareOptions& options) {
  DOVETAIL_TRY(check_firmware_tools());
  std::vector<std::string> sources;
  for (const exporting::ProjectFile& file : exporting::project_files(exported.plan, exported.golden, "")) {
    const bool is_source = file.name.ends_with(".c") || file.name.ends_with(".h");
    if (!is_source || file.name.starts_with("test_") || file.name == "platform_simulator.c") continue;
    DOVETAIL_TRY(write_text_file(options.folder / file.name, file.text));
  }
  DOVETAIL_TRY(copy_sources(options.sources, options.folder));
  DOVETAIL_TRY(write_text_file(options.folder / "dovetail_soc.h", soc::map_header()));
  DOVETAIL_TRY(write_text_file(options.folder / "model.c", model_text(exported)));
  const std::string script = fmt::format(
      "set -e\n"
      "{0} {1} -O2 -std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -Werror{2} "
      "-nostartfiles "
      "-Wl,--gc-sections,--no-warn-rwx-segments -Wl,--defsym=SOC_RAM_BASE={3:#x},--defsym=SOC_RAM_BYTES={4:#x},"
      "--defsym=SOC_STACK_BYTES={5} -T soc.ld -I. *.c start.S -lm -o firmware.elf\n"
      "riscv64-unknown-elf-objcopy -O binary firmware.elf firmware.bin\n",
      kCompiler, kProcessor, options.wait == Wait::interrupt ? " -DSOC_WAIT_INTERRUPT" : "",
      soc::window(soc::Target::ram).base, soc::kRamBytes, kStackBytes);
  const fs::path log = options.folder / "firmware.log";
  std::error_code ignored;
  fs::remove(log, ignored);
  DOVETAIL_ASSIGN(const ChildEnd end, run_child({script, options.folder, {}, log}));
  if (end.exit != 0) {
    std::string said = read_text_file(log).ok() ? read_text_file(log).value() : "";
    said.erase(0, said.size() - std::min<std::size_t>(said.size(), 2000));
    return Diagnostic{"cannot build firmware", exported.plan.model, fmt::format("the compiler says: {}", said),
                      fmt::format("RAM has {} bytes for code, constants and the arena", soc::kRamBytes), Cause::work};
  }
  return read_file(options.folder / "firmware.bin");
}

}  // namespace dovetail::driver
