#include "export/c_accelerator.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/c_place.h"
#include "export/c_source.h"
#include "export/c_text.h"
#include "isa/spec/registers.h"
#include "isa/system.h"

namespace dovetail::exporting {

namespace {

std::string address(const Plan& plan, std::uint64_t offset) {
  return fmt::format("{} + 0x{:x}", macro(plan, "MEMORY_BASE"), offset);
}

std::string segments(const Plan& plan, std::string_view table, const std::vector<PlannedSegment>& all) {
  std::string text = fmt::format("static const struct dovetail_segment {}_{}[] = {{\n", plan.options.name, table);
  for (const PlannedSegment& segment : all) {
    const std::string data = !segment.blob ? "0"
                                           : plan.accelerator->blobs[*segment.blob].name +
                                                 (segment.from > 0 ? fmt::format(" + {}", segment.from) : "");
    text += fmt::format("  {{{}, {}, {}, {}}},\n", address(plan, segment.range.at), segment.range.bytes, data,
                        segment.blob ? 0 : segment.fill);
  }
  return text + "};\n";
}

// The nodes, in lines of a comment.
std::string nodes_comment(const PlannedRegion& region) {
  std::string text, line = fmt::format("/* {} instructions:", region.instructions);
  for (std::size_t i = 0; i < region.nodes.size(); ++i) {
    const std::string word = " " + region.nodes[i] + (i + 1 < region.nodes.size() ? " +" : " */");
    if (line.size() + word.size() > kColumns) text += std::exchange(line, " *") + "\n";
    line += word;
  }
  return text + line + "\n";
}

std::string launches(const PlannedRegion& region) {
  std::string text =
      nodes_comment(region) + fmt::format("static const struct dovetail_machine_launch {}[] = {{\n", region.name);
  for (const isa::Launch& launch : region.launches)
    text +=
        fmt::format("  {{{}, {}, {}, {}}},\n", launch.begin, launch.count, launch.accelerator, launch.together ? 1 : 0);
  return text + "};\n";
}

}  // namespace

Json hardware_json(const PlannedAccelerator& accelerator) {
  isa::Machine machine{accelerator.configs.front()};
  machine.system.accelerators = static_cast<std::int64_t>(accelerator.configs.size());
  const std::vector<isa::HardwareConfig> others(accelerator.configs.begin() + 1, accelerator.configs.end());
  if (!others.empty()) machine.system.split = isa::Split::layers;
  for (const isa::HardwareConfig& other : others)
    if (other != machine.hardware) machine.system.others = others;
  return isa::machine_to_json(machine);
}

std::string accelerator_header(const Plan& plan) {
  const PlannedAccelerator& accelerator = *plan.accelerator;
  const std::string& name = plan.options.name;
  std::vector<std::string> names, configs;
  for (const isa::HardwareConfig& config : accelerator.configs) {
    names.push_back(config.name);
    configs.push_back(fmt::format("0x{:08x}", isa::spec::config_register(config)));
  }
  std::string text = fmt::format(
      "\n/* The accelerator's memory: one physically contiguous block, at this address as the accelerator sees it. "
      "The\n"
      " * instructions have the address; `dovetail export --memory-base` chooses it. Where the processor sees the "
      "block,\n"
      " * its address must be a multiple of {0}. */\n"
      "#define {0} {1}\n#define {2} UINT64_C(0x{3:x})\n#define {4} UINT64_C({5})\n",
      macro(plan, "MEMORY_ALIGNMENT"), bundle::kTensorAlignment, macro(plan, "MEMORY_BASE"), accelerator.base,
      macro(plan, "MEMORY_BYTES"), accelerator.bytes);
  text += fmt::format(
      "\n/* The accelerators, in the order of dovetail_machine.accelerators: {0}.\n"
      " * Their registers CONFIG must have these values. hardware.json has all parameters. */\n"
      "#define {1} {2}\n#define {3} {{{4}}}\n",
      comment_text(fmt::format("{}", fmt::join(names, ", "))), macro(plan, "ACCELERATORS"), names.size(),
      macro(plan, "CONFIGS"), fmt::join(configs, ", "));
  for (const PlannedRegion& region : accelerator.regions)
    if (region.offset)
      text += fmt::format("\n/* The last position at which {} writes. */\n#define {} {}\n", region.name,
                          upper_case(region.name) + "_LAST_POSITION", region.offset->most);
  text += fmt::format(
      "\n/* Checks the machine, and writes instructions and constants to its memory: once, before all runs; other "
      "programs\n"
      " * must not write to the block after it. Returns 0, or a negative number of enum dovetail_result. */\n"
      "int {}_load(const struct dovetail_machine* machine);\n",
      name);
  return text;
}

std::string accelerator_tables(const Plan& plan) {
  const PlannedAccelerator& accelerator = *plan.accelerator;
  const std::string& name = plan.options.name;
  std::string text = "\n/* ---- The accelerator ---- */\n";
  for (const PlannedBlob& blob : accelerator.blobs)
    text += fmt::format(
        "\n/* {} */\nstatic const uint8_t {}[{}] = {{\n{}}};\n", blob.comment, blob.name, blob.bytes.size(),
        initializer(NdArray(DType::uint8, {static_cast<std::int64_t>(blob.bytes.size())}, blob.bytes.bytes()), "  "));
  text +=
      "\n/* The memory before all runs, in this order: address, bytes, their source, or the value of all of them. */\n";
  text += segments(plan, "image", accelerator.image);
  if (!accelerator.reset.empty()) {
    text += "\n/* What a run changes, and the next one reads: written again before each run. */\n";
    text += segments(plan, "reset", accelerator.reset);
  }
  text +=
      "\n/* The launches of each region: first instruction, instructions, accelerator, whether it begins with the\n"
      " * launch before. */\n";
  for (const PlannedRegion& region : accelerator.regions) text += launches(region);
  text += fmt::format(
      "\nint {0}_load(const struct dovetail_machine* machine) {{\n"
      "  static const uint32_t configs[] = {1};\n"
      "  const int status = dovetail_machine_check(machine, {2}, {3},\n                                            "
      "{4}, configs, {5});\n"
      "  if (status != DOVETAIL_OK) return status;\n"
      "  dovetail_machine_fill(machine, {0}_image, sizeof {0}_image / sizeof {0}_image[0]);\n"
      "  return DOVETAIL_OK;\n}}\n",
      name, macro(plan, "CONFIGS"), macro(plan, "MEMORY_BASE"), macro(plan, "MEMORY_BYTES"),
      macro(plan, "MEMORY_ALIGNMENT"), macro(plan, "ACCELERATORS"));
  return text;
}

std::string accelerator_begin(const Plan& plan) {
  if (plan.accelerator->reset.empty()) return "";
  return fmt::format("  dovetail_machine_fill(machine, {0}_reset, sizeof {0}_reset / sizeof {0}_reset[0]);\n",
                     plan.options.name);
}

std::string region_statements(const Plan& plan, const RegionCall& call, const std::string& position) {
  const PlannedRegion& region = plan.accelerator->regions[call.region];
  std::string text;
  for (const MemoryRange& range : call.clean)
    text += fmt::format("  dovetail_machine_clean(machine, {}, {});\n", address(plan, range.at), range.bytes);
  if (region.offset)
    text += fmt::format(
        "  position = *{0};\n"
        "  if (position < 0 || position > {1}_LAST_POSITION) return DOVETAIL_BAD_POSITION;\n"
        "  dovetail_machine_offset(machine, {2}, (uint64_t)position * {3});\n",
        position, upper_case(region.name), macro(plan, "ACCELERATORS"), region.offset->bytes);
  text += fmt::format(
      "  status = dovetail_machine_run(machine, {}, {}, {});\n  if (status != DOVETAIL_OK) return status;\n",
      address(plan, region.program), region.name, region.launches.size());
  for (const MemoryRange& range : call.invalidate)
    text += fmt::format("  dovetail_machine_invalidate(machine, {}, {});\n", address(plan, range.at), range.bytes);
  return text;
}

std::string accelerator_cmake(const Plan& plan) {
  const bool object = plan.options.object.has_value();
  return fmt::format(
      "# Written by `dovetail export`: the program as a static library, and its test on the machine of PLATFORM.\n"
      "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\n\n"
      "add_library({0} STATIC {0}.c dovetail_tiny.c dovetail_driver.c dovetail_machine.c)\n"
      "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
      "set_target_properties({0} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)\n"
      "if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\")\n"
      "  target_compile_options({0} PRIVATE -ffp-contract=off)  # every operation rounds separately\nendif()\n"
      "target_link_libraries({0} PUBLIC {1}m)\n\n"
      "set(PLATFORM platform_simulator.c CACHE STRING \"the source of platform.h's functions\")\n"
      "enable_testing()\nadd_executable(test_{0} test_{0}.c ${{PLATFORM}})\n"
      "set_target_properties(test_{0} PROPERTIES C_STANDARD 99)\n"
      "target_link_libraries(test_{0} PRIVATE {0})\n"
      "if(PLATFORM STREQUAL platform_simulator.c)\n"
      "  find_package(PkgConfig REQUIRED)\n"
      "  pkg_check_modules(DOVETAIL REQUIRED IMPORTED_TARGET dovetail)\n"
      "  target_link_libraries(test_{0} PRIVATE PkgConfig::DOVETAIL)\nendif()\n"
      "add_test(NAME {0} COMMAND test_{0} WORKING_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}})  # of hardware.json\n",
      plan.options.name, object ? fmt::format("${{CMAKE_CURRENT_SOURCE_DIR}}/{}.a ", plan.options.name) : "");
}

std::string accelerator_readme(const Plan& plan) {
  const std::string& name = plan.options.name;
  const auto& object = plan.options.object;
  std::vector<std::pair<std::string, std::string>> files{
      {name + ".h", "the interface: memory, configuration, inputs, outputs, " + name + "_load, " + name + "_run"},
      {name + ".c", object ? "constants, launches and the accelerator's memory, and the run"
                           : "constants, kernels, launches and the accelerator's memory"}};
  if (object) files.emplace_back(name + ".a", "kernels, for " + object->processor);
  files.insert(files.end(), {{"dovetail_machine.h", "the machine: accelerators, memory, caches; what you fill in"},
                             {"dovetail_machine.c", "launches on it"},
                             {"dovetail_driver.h", "the driver of an accelerator's registers"},
                             {"dovetail_driver.c", "likewise"},
                             {"dovetail_isa.h", "the registers"},
                             {"dovetail_tiny.h", "arithmetic that C does not define in all cases"},
                             {"dovetail_tiny.c", "likewise; several exported programs share one copy"},
                             {"test_" + name + ".c", "compares one run with the reference; exit status 0 if it agrees"},
                             {"platform.h", "the machine of the test; for a board, write its two functions"},
                             {"platform_simulator.c", "they make a simulated machine, of Dovetail's library"},
                             {kHardwareFile, "all parameters of the accelerator"},
                             {"CMakeLists.txt", "library " + name + ", and the test"}});
  return fmt::format("{}, exported by Dovetail to C99 with an accelerator\n\n", comment_text(plan.model)) +
         file_list(files) +
         fmt::format(R"(
Build and test in this folder on a simulated machine, without CMake:

  cc{1} -std=c99 -O2 -ffp-contract=off *.c {2}$(pkg-config --cflags --libs dovetail) -lm -o test_{0} && ./test_{0}

Your project needs {0}.h, {0}.c{3} and the files dovetail_*. Fill in a struct dovetail_machine, call {0}_load once and
{0}_run for each run. The accelerator's memory is {4} bytes at 0x{5:x}: reserve that block, or export with another
--memory-base. Functions of a platform under Linux, with a UIO device and the memory mapped uncached:

  uint32_t get(void* registers, uint32_t at) {{ return ((volatile uint32_t*)registers)[at / 4]; }}
  void set(void* registers, uint32_t at, uint32_t value) {{ ((volatile uint32_t*)registers)[at / 4] = value; }}
  void sleep_until_interrupt(void* registers) {{ uint32_t n = 1; write(uio, &n, 4); read(uio, &n, 4); }}

  struct dovetail_device accelerator = {{registers, get, set, sleep_until_interrupt}};  /* null: look again at once */

)",
                     name, object && !object->flags.empty() ? " " + object->flags : "", object ? name + ".a " : "",
                     object ? fmt::format(", {}.a", name) : "", plan.accelerator->bytes, plan.accelerator->base);
}

}  // namespace dovetail::exporting
