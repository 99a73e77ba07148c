// Hints in the names of the C interface. Every literal of the sources that a caller of dovetail.h can reach is
// translated here: an option or command that the tables of capi/names.cpp lack fails the test.
#include "capi/names.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "base/file.h"
#include "tests/catch.h"

using namespace dovetail;
using capi::with_names;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFolders[] = {"base",    "bundle", "capi",      "cli/program", "compiler", "driver",
                                         "explore", "loops",  "simulator", "isa",         "runtime"};

// Literals that no caller of the interface reads as a hint: those of a file that contain the text.
struct NotSeen {
  std::string_view file, text, why;
};
// clang-format off
constexpr NotSeen kNotSeen[] = {
    {"cli/program/emit_region.cpp", "", "the command line alone writes C sources"},
    {"cli/program/program_file.cpp", "--dram-base", "images have their address in the map"},
    {"cli/program/program_image.cpp", "--dram", "likewise"},
    {"cli/program/program_input.cpp", "", "the options of commands; dvt_program has its own members"},
    {"cli/program/simulation.cpp", "--program-base", "engines place programs themselves"},
    {"compiler/target/cpu/codegen/link.cpp", "--", "options of the linker"},
    {"compiler/target/cuda/nvrtc.cpp", "--", "options of NVRTC, pip and ./dev"},
    {"driver/compile_model.cpp", "--cache", "the command line alone has a cache"},
    {"driver/compiled_cache.cpp", "--cache", "likewise"},
    {"driver/expectation.cpp", "--dump-tensors", "expected tensors are files"},
    {"driver/firmware.cpp", "--", "options of GCC"},
    {"driver/hardware_pnr.cpp", "--", "options of nextpnr and ecppack; the command line alone places"},
    {"driver/hardware_synthesis.cpp", "apt-get", "an option of apt-get"},
    {"driver/kept_tensors.cpp", "--dump-tensors", "kept tensors are files"},
    {"driver/preprocess.cpp", "--preprocess", "pictures are files"},
    {"driver/sample_files.cpp", "--preprocess", "likewise"},
    {"driver/tensor_files.cpp", "--output-dir", "outputs are files"},
    {"explore/sweep/numerics.cpp", "", "the command of a point, for the page of a sweep"},
    {"explore/sweep/report.cpp", "", "likewise"},
    {"isa/emit/markdown.cpp", "", "the command that a generated page names"},
    {"runtime/device/cuda/find_library.cpp", "pip3", "an option of pip"},
    {"simulator/cycle/execution.cpp", "--program-base", "engines place programs themselves"},
    {"simulator/rtl/find.cpp", " --waves", "an option of `dovetail rtl build`"},
    {"simulator/rtl/model_file.cpp", "verilator", "an option of Verilator"},
    {"simulator/rtl/recipe.cpp", "--", "options of Verilator"},
};
// clang-format on

// Commands that have no function.
const std::regex kCommandAlone("`dovetail (?:(?:rtl|soc) build|hw pnr|isa)\\b[^`]*`");
const std::regex kOption("(?:^|[^-\\w])--[a-z]");
// "this version of dovetail reads" is not a command.
const std::regex kCommand(
    "dovetail (?:asm|check|compare|compile|doctor|evaluate|explore|hw|inspect|isa|profile|quantize|records|"
    "rtl|run|simulate|trace|tune|zoo)\\b");

// The text of the file without lines of comments, adjacent literals joined.
std::string joined_source(const fs::path& path) {
  const auto bytes = read_file(path);
  REQUIRE(bytes.ok());
  std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  text = std::regex_replace(text, std::regex("(^|\n) *//[^\n]*"), "\n");
  return std::regex_replace(text, std::regex("\"\\s*\n\\s*\""), "");
}

}  // namespace

TEST_CASE("diagnostics name members and functions, not options and commands") {
  CHECK(with_names("invalid value for --target") == "invalid value for `targets`");
  CHECK(with_names("`--dump trace` shows them") == "`stages` trace shows them");
  CHECK(with_names("`dovetail compile --dump import` lists") == "`dvt_compile_stages` with `stages` import lists");
  CHECK(with_names("check it with `dovetail doctor`") == "check it with `dvt_doctor`");
  CHECK(with_names("`dovetail quantize M -o Q --samples S`; or not") == "`dvt_quantize`; or not");
  CHECK(with_names("`dovetail rtl build --hw tiny`") == "`dovetail rtl build --hw tiny`");
  CHECK(with_names("a -- b, --nonesuch, `x --hw`, `open") == "a -- b, --nonesuch, `x --hw`, `open");
}

TEST_CASE("hints of reports are named at any depth, other entries are kept") {
  const Json report{{"rows", {{{"why", "add --target accel"}, {"command", "dovetail run --target accel"}}}},
                    {"notes", {"--shape N=4", 3}},
                    {"remedy", nullptr}};
  const Json expected{{"rows", {{{"why", "add `targets` accel"}, {"command", "dovetail run --target accel"}}}},
                      {"notes", {"`shapes` N=4", 3}},
                      {"remedy", nullptr}};
  CHECK(capi::with_named_hints(report) == expected);
  CHECK(capi::with_named_hints("why") == "why");
}

TEST_CASE("no literal of the kit's libraries names an option without a translation") {
  const fs::path root(DOVETAIL_SOURCE_DIR);
  const std::regex literal("\"(?:[^\"\\\\\n]|\\\\.)*\"");
  std::set<const NotSeen*> used;
  int translated = 0;
  for (const std::string_view folder : kFolders)
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if ((path.extension() != ".cpp" && path.extension() != ".h") || path.filename() == "names.cpp") continue;
      const std::string name = path.lexically_relative(root).string();
      if (name.starts_with("capi/include/")) continue;
      const std::string source = joined_source(path);
      for (std::sregex_iterator found(source.begin(), source.end(), literal); found != std::sregex_iterator();
           ++found) {
        const std::string given = found->str().substr(1, found->str().size() - 2);
        // A path or the banner of a generated file is not a hint.
        if (given.find("Generated") != std::string::npos || given.find("Written by") != std::string::npos) continue;
        const std::string text = std::regex_replace(with_names(given), kCommandAlone, "");
        if (text != given) ++translated;
        if (!std::regex_search(text, kOption) && !std::regex_search(text, kCommand)) continue;
        const auto* row = std::ranges::find_if(kNotSeen, [&](const NotSeen& each) {
          return each.file == name && text.find(each.text) != std::string::npos;
        });
        if (row != std::end(kNotSeen)) used.insert(row);
        else FAIL_CHECK(name << ": \"" << text << "\" is for the command line: add a row to capi/names.cpp");
      }
    }
  CHECK(translated > 100);
  for (const NotSeen& row : kNotSeen)
    if (!used.contains(&row)) FAIL_CHECK(row.file << " has no literal with " << row.text << " any more");
}
