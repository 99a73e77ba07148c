#include "driver/firmware.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

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

// The kit's sources that only an exported program needs.
constexpr std::array<std::string_view, 2> kOfModel{"main.c", "machine.c"};

// Copies the kit's sources and the header of the memory map. Returns the names of those that are compiled.
Result<std::vector<std::string>> copy_sources(const fs::path& from, const fs::path& to, bool has_model) {
  std::error_code error;
  if (!fs::is_directory(from, error))
    return Diagnostic{"cannot build firmware", from.string(), "the folder with the firmware's sources is missing",
                      kKitHint};
  std::vector<std::string> compiled;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path name = entry.path().filename();
    if (!has_model && std::ranges::find(kOfModel, name.string()) != kOfModel.end()) continue;
    fs::copy_file(entry.path(), to / name, fs::copy_options::overwrite_existing, error);
    if (error) break;
    if (name.extension() == ".c" || name.extension() == ".S") compiled.push_back(name.string());
  }
  if (error)
    return Diagnostic{"cannot build firmware", to.string(), error.message(), "choose a folder that can be written"};
  DOVETAIL_TRY(write_text_file(to / "dovetail_soc.h", soc::map_header()));
  return compiled;
}

struct Link {
  std::string title;                 // for messages
  std::vector<std::string> sources;  // in the folder
  std::string options = {};          // of the compiler
  fs::path headers = {};             // a folder of more headers; empty: none
  Cause cause = Cause::work;         // of what the compiler refuses
};
// The bytes of firmware.bin.
Result<std::vector<std::byte>> link(const fs::path& folder, const Link& what) {
  const std::string script = fmt::format(
      "set -e\n"
      "{0} {1} -O2 -std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra {2} -nostartfiles "
      "-Wl,--gc-sections,--no-warn-rwx-segments -Wl,--defsym=SOC_RAM_BASE={3:#x},--defsym=SOC_RAM_BYTES={4:#x},"
      "--defsym=SOC_STACK_BYTES={5} -T soc.ld -I. ${{headers:+-I\"$headers\"}} {6} -lm -o firmware.elf\n"
      "riscv64-unknown-elf-objcopy -O binary firmware.elf firmware.bin\n",
      kCompiler, kProcessor, what.options, soc::window(soc::Target::ram).base, soc::kRamBytes, kStackBytes,
      fmt::join(what.sources, " "));
  const fs::path log = folder / "firmware.log";
  std::error_code ignored;
  fs::remove(log, ignored);
  DOVETAIL_ASSIGN(const ChildEnd end, run_child({script, folder, {{"headers", what.headers.string()}}, log}));
  if (end.exit == 0) return read_file(folder / "firmware.bin");
  std::string said = read_text_file(log).ok() ? read_text_file(log).value() : "";
  said.erase(0, said.size() - std::min<std::size_t>(said.size(), 2000));
  return Diagnostic{"cannot build firmware", what.title, fmt::format("the compiler says: {}", said),
                    fmt::format("RAM has {} bytes for code, constants and variables", soc::kRamBytes), what.cause};
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
  DOVETAIL_ASSIGN(std::vector<std::string> sources, copy_sources(options.sources, options.folder, true));
  for (const exporting::ProjectFile& file : exporting::project_files(exported.plan, exported.golden, "")) {
    const bool is_source = file.name.ends_with(".c");
    const bool is_needed = is_source || file.name.ends_with(".h");
    if (!is_needed || file.name.starts_with("test_") || file.name == "platform_simulator.c") continue;
    DOVETAIL_TRY(write_text_file(options.folder / file.name, file.text));
    if (is_source) sources.push_back(file.name);
  }
  sources.emplace_back("model.c");
  DOVETAIL_TRY(write_text_file(options.folder / sources.back(), model_text(exported)));
  return link(options.folder,
              {.title = exported.plan.model,
               .sources = std::move(sources),
               .options = options.wait == Wait::interrupt ? "-Werror -DSOC_WAIT_INTERRUPT" : "-Werror"});
}

Result<std::vector<std::byte>> build_program(const fs::path& program, const FirmwareOptions& options) {
  const std::string kind = program.extension().string();
  if (kind != ".c" && kind != ".S" && kind != ".bin")
    return Diagnostic{"cannot run the program", program.string(), "it is not a file of C, assembly or machine code",
                      "give a .c or .S file, or the contents of RAM as .bin"};
  if (kind == ".bin") return read_file(program, soc::kRamBytes);
  DOVETAIL_TRY(check_firmware_tools());
  std::error_code ignored;
  if (fs::equivalent(fs::absolute(program).parent_path(), options.folder, ignored))
    return Diagnostic{"cannot build the program", program.string(), "its folder receives the kit's sources too",
                      "give another folder with --keep"};
  DOVETAIL_ASSIGN(const std::string text, read_text_file(program));
  DOVETAIL_ASSIGN(std::vector<std::string> sources, copy_sources(options.sources, options.folder, false));
  sources.push_back("program" + kind);
  DOVETAIL_TRY(write_text_file(options.folder / sources.back(), text));
  return link(options.folder, {.title = program.string(),
                               .sources = std::move(sources),
                               .headers = fs::absolute(program).parent_path(),
                               .cause = Cause::input});
}

}  // namespace dovetail::driver
