#include "simulator/rtl/model_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/resource_error.h"
#include "base/text_stream.h"
#include "isa/emit/emit.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string processor() {
  TextFile file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  return {};
}

// All files of the design in a fixed order; empty if the folder has none.
std::string design_text(const fs::path& design, const RtlModelKind& kind) {
  std::vector<fs::path> files;
  std::error_code ignored;
  std::vector<const char*> folders{"rtl", "sva", "tb"};
  if (kind.is_system()) folders.insert(folders.end(), {"soc", "soc/tb"});
  for (const char* folder : folders)
    for (const fs::path& path : entries_of(design / folder))
      if (fs::is_regular_file(path, ignored)) files.push_back(path);
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) {
    const std::string bytes = content(file);
    text += fmt::format("{} {}\n{}", file.lexically_relative(design).string(), bytes.size(), bytes);
  }
  return text;
}

// "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)" becomes verilator-5.006-2023-01-22-rev-debian-5.006-3.
std::string as_file_name(const std::string& line) {
  std::string name;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.') name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// The seal has a fixed length; its number is the size of the whole file in bytes.
constexpr std::string_view kSeal = "\nDovetail RTL model of {:>16} bytes\n";
std::string seal(std::uintmax_t bytes) { return fmt::format(kSeal, bytes); }
const std::size_t kSealBytes = seal(0).size();

}  // namespace

RtlModelSources rtl_model_sources(const isa::HardwareConfig& config, const RtlModelKind& kind, const fs::path& design,
                                  const fs::path& kit) {
  isa::HardwareConfig nameless = config;
  nameless.name.clear();
  RtlModelSources sources{.recipe = rtl_recipe(nameless, kind),
                          .package = isa::emit_sv_package(nameless),
                          .map = kind.is_system() ? soc::map_package() : "",
                          .design = design_text(design, kind),
                          .processor = processor()};
  if (!sources.design.empty()) sources.design += content(kit / "simulator" / "rtl" / "model_api.h");
  if (kind.is_system()) sources.design += content(kit / "simulator" / "soc" / "model_api.h") + content(kind.core);
  return sources;
}

std::string rtl_model_prefix(const RtlModelSources& sources) {
  Hash hash;
  for (const std::string* part :
       {&sources.recipe.verilate, &sources.recipe.compile_run_time, &sources.recipe.compile_model, &sources.package,
        &sources.map, &sources.design, &sources.processor})
    hash.add(*part);
  return fmt::format("{}-{}-", sources.map.empty() ? "rtl" : "soc", hash.text());
}

std::string rtl_model_file(const RtlModelSources& sources, const std::string& verilator) {
  return fmt::format("{}{}.so", rtl_model_prefix(sources), verilator);
}

std::string rtl_run_time_file(const RtlModelSources& sources, const std::string& verilator) {
  Hash hash;
  hash.add(sources.recipe.compile_run_time);
  hash.add(sources.processor);
  return fmt::format("verilated-{}-{}.o", hash.text(), verilator);
}

const std::optional<std::string>& verilator_version() {
  static const std::optional<std::string> version = []() -> std::optional<std::string> {
    if (!is_on_path("verilator")) return std::nullopt;
    const auto printed = output_of("exec verilator --version 2>/dev/null");
    if (!printed.ok()) throw ResourceError(printed.errors().front());
    if (!*printed) return std::nullopt;
    const std::string name = as_file_name((*printed)->substr(0, (*printed)->find('\n')));
    return name.empty() ? std::nullopt : std::optional(name);
  }();
  return version;
}

Result<void> seal_rtl_model(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  const auto bad = [&](int why) {
    return Diagnostic{"cannot write the RTL model", path.string(), std::strerror(why),
                      "check that the disk is not full", cause_of(why)};
  };
  if (error) return bad(error.value());
  const std::string end = seal(bytes + kSealBytes);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return bad(errno);
  const bool written = write_all(file, std::as_bytes(std::span(end))) && ::fsync(file) == 0;
  const int why = errno;
  if (::close(file) != 0 || !written) return bad(written ? errno : why);
  return {};
}

std::optional<std::string> rtl_model_damage(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) return error.message();
  std::string end(kSealBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (bytes >= kSealBytes) {
    file.seekg(static_cast<std::streamoff>(bytes - kSealBytes));
    file.read(end.data(), static_cast<std::streamsize>(end.size()));
  }
  if (file && end == seal(bytes)) return std::nullopt;
  return fmt::format(
      "the file is truncated, or was not made by `dovetail rtl build`: its {} bytes do not end like an RTL model",
      bytes);
}

}  // namespace dovetail::simulator
