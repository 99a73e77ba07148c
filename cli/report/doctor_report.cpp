#include "cli/report/doctor_report.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/processor.h"
#include "base/text_stream.h"
#include "base/text_table.h"
#include "cli/report/text.h"
#include "cli/shell/build_facts.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cuda/nvrtc.h"
#include "driver/hardware_tools.h"
#include "driver/targets.h"
#include "explore/distribute/mpi.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cudnn/library.h"
#include "runtime/executor.h"
#include "simulator/functional/kernel_level.h"

namespace dovetail::cli {

namespace {

struct Package {
  std::string group, name, purpose;
};

// The column of packages.txt for this system: 1 Debian, 2 Ubuntu; nullopt elsewhere.
std::optional<int> package_column() {
  const auto release = read_text_file("/etc/os-release");
  if (!release.ok()) return std::nullopt;
  std::string ids;
  TextStream lines(*release);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("ID=") || line.starts_with("ID_LIKE=")) ids += line.substr(line.find('=') + 1) + " ";
  if (ids.find("ubuntu") != std::string::npos) return 2;
  if (ids.find("debian") != std::string::npos) return 1;
  return std::nullopt;
}

std::vector<Package> packages(int column) {
  std::vector<Package> list;
  TextStream lines{std::string(build_facts().packages)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    TextStream words(line);
    std::string group, debian, ubuntu, purpose;
    words >> group >> debian >> ubuntu >> std::ws;
    std::getline(words, purpose);
    const std::string& name = column == 1 ? debian : ubuntu;
    if (!name.empty() && name != "-") list.push_back({group, name, purpose});
  }
  return list;
}

// dpkg keeps a list of files of every installed package, named with the architecture where several may be installed.
bool installed(const std::string& package) {
  const std::filesystem::path folder = "/var/lib/dpkg/info";
  std::error_code error;
  if (std::filesystem::exists(folder / (package + ".list"), error)) return true;
  for (const char* architecture : {"amd64", "arm64"})
    if (std::filesystem::exists(folder / fmt::format("{}:{}.list", package, architecture), error)) return true;
  return false;
}

constexpr std::array kLevels{simulator::KernelLevel::baseline, simulator::KernelLevel::avx2,
                             simulator::KernelLevel::avx512vnni};

struct Fact {
  std::string_view name, value;
};
std::vector<Fact> versions() {
  const BuildFacts& facts = build_facts();
  return {{"dovetail", facts.version}, {"compiler", facts.compiler},  {"build type", facts.build_type},
          {"fmt", facts.fmt},          {"nlohmann-json", facts.json}, {"zlib", facts.zlib},
          {"OpenSSL", facts.openssl},  {"SQLite", facts.sqlite},      {"CLI11", facts.cli11},
          {"LLVM", facts.llvm}};
}
std::vector<runtime::Engine> targets() {
  std::vector<runtime::Engine> list;
  for (const driver::TargetRow& row : driver::target_table())
    list.push_back({row.name(), row.description, is_available(row), false, missing(row)});
  return list;
}
std::vector<runtime::Engine> flows() {
  std::vector<runtime::Engine> list;
  for (const driver::HardwareFlow& row : driver::hardware_flows())
    list.push_back({row.name, row.description, row.missing.empty(), false, row.missing});
  return list;
}
std::string_view here(const runtime::Engine& row) { return row.available ? "yes" : "no"; }
// Lines about engines that are missing, and about engine rtl where it cannot build models.
std::string what_is_missing(const std::vector<runtime::Engine>& rows) {
  std::string lines;
  for (const runtime::Engine& row : rows)
    if (!row.missing.empty()) lines += fmt::format("  {}: {}\n", row.name, row.missing);
  return lines;
}
// The compiler and the driver for NVIDIA GPUs; or why they are missing, and how to install them.
std::vector<std::pair<std::string_view, std::string>> gpu() {
  const auto missing = [](const Diagnostics& why) {
    return fmt::format("no: {}. {}", why.front().why, why.front().hint);
  };
  const auto compiler = cuda::Nvrtc::find();
  const auto device = runtime::cuda::find_device();
  std::string path;
  const auto products = runtime::cublas::Library::find(&path);
  const std::string cublas = products.ok() ? fmt::format("{}.{} ({})", (*products)->version() / 10000,
                                                         (*products)->version() / 100 % 100, path)
                                           : missing(products.errors());
  const auto operations = runtime::cudnn::Library::find(&path);
  const std::string cudnn = operations.ok()
                                ? fmt::format("{} ({})", runtime::cudnn::version_text((*operations)->version()), path)
                                : missing(operations.errors());
  return {
      {"compiler", compiler.ok() ? fmt::format("NVRTC {} ({}) for sm_{}", (*compiler)->version(), (*compiler)->path(),
                                               fmt::join((*compiler)->architectures(), ", sm_"))
                                 : missing(compiler.errors())},
      {"device", device.ok() ? fmt::format("{}, sm_{}", device->name, device->capability) : missing(device.errors())},
      {"cuBLAS", cublas},
      {"cuDNN", cudnn}};
}
// The MPI library with which `explore` and `tune` run in several processes; or why there is none.
std::string mpi() {
  const auto library = explore::mpi_library();
  return library.ok() ? *library
                      : fmt::format("no: {}. {}", library.errors().front().why, library.errors().front().hint);
}
// The value of DOVETAIL_PROCESSOR; empty if it is not set. A bad value ends every command.
std::string_view cap() {
  const auto cap = processor_cap();
  return cap.ok() ? cap->value_or("") : "";
}
// The processor class for which code for this machine is generated; empty if there is none.
std::string native() {
  const auto cpu = cpu::find_cpu("native");
  return cpu.ok() ? cpu->name : "";
}
std::vector<std::string> classes_here() {
  std::vector<std::string> names;
  for (const std::string_view name : processor_classes())
    if (runs_here(name)) names.emplace_back(name);
  return names;
}
std::string install_line(const std::vector<Package>& missing) {
  std::vector<std::string> names;
  for (const Package& package : missing) names.push_back(package.name);
  return fmt::format("sudo apt-get install --no-install-recommends {}", fmt::join(names, " "));
}

// The packages that are not installed, and whether the system is known; no packages if it is not.
std::pair<std::vector<Package>, bool> missing_packages() {
  const auto column = package_column();
  std::vector<Package> missing;
  if (column)
    for (const Package& package : packages(*column))
      if (!installed(package.name)) missing.push_back(package);
  return {std::move(missing), column.has_value()};
}

}  // namespace

std::string doctor_text() {
  const auto [missing, known_system] = missing_packages();
  std::string lines = "engines\n";
  TextTable engines({"name", "here", "what it is"}), targets_here({"name", "here", "what it is"}),
      flows_here({"name", "here", "what it needs"});
  const auto add = [](TextTable& table, const std::vector<runtime::Engine>& rows) {
    for (const runtime::Engine& row : rows)
      table.add({std::string(row.name), std::string(here(row)), std::string(row.description)});
    return table.to_string() + what_is_missing(rows);
  };
  lines += add(engines, runtime::engines()) + "\ntargets\n" + add(targets_here, targets()) +
           "\nhardware: a chip from the design\n" + add(flows_here, flows());
  lines += "\nCPU: processor classes that code is generated for\n";
  TextTable classes({"class", "vector", "runs here", "native here"});
  for (const cpu::Cpu& cpu : cpu::cpus())
    classes.add({cpu.name, fmt::format("{} bytes", cpu.vector_bytes), runs_here(cpu.name) ? "yes" : "no",
                 cpu.name == native() ? "yes" : ""});
  lines += classes.to_string();
  if (!cap().empty())
    lines += fmt::format("  {}={}: the machine itself is of class {}\n", kProcessorVariable, cap(), machine_class());
  lines += "\nGPU: compiler and driver of kernels\n";
  TextTable gpus({"part", "here"});
  for (const auto& [part, words] : gpu()) gpus.add({std::string(part), words});
  lines += gpus.to_string() + "\nprocesses: `mpirun -n N dovetail explore ...`, and `tune`\n";
  TextTable processes({"part", "here"});
  processes.add({"MPI", mpi()});
  lines += processes.to_string() + "\nCPU: functional simulator kernels\n";
  TextTable kernels({"kernel", "supported", "used"});
  for (const auto level : kLevels)
    kernels.add({std::string(name(level)), simulator::is_supported(level) ? "yes" : "no",
                 level == simulator::best_kernel_level() ? "yes" : ""});
  lines += kernels.to_string() + "\nversions\n";
  TextTable table({"name", "version"});
  for (const Fact& fact : versions()) table.add({std::string(fact.name), std::string(fact.value)});
  lines += table.to_string() + "\n";
  if (!known_system)
    return lines + "packages: this is neither Debian nor Ubuntu; packages.txt lists the packages that building needs\n";
  if (missing.empty()) return lines + "packages: nothing is missing to build, test, compare and format\n";
  lines += "missing to build, test, compare or format (this program runs without these packages)\n";
  TextTable packages({"group", "package", "purpose"});
  for (const Package& package : missing) packages.add({package.group, package.name, package.purpose});
  return lines + packages.to_string() + fmt::format("  install: {}\n", install_line(missing));
}

Json doctor_json() {
  const auto [missing, known_system] = missing_packages();
  const auto rows = [](const std::vector<runtime::Engine>& list) {
    Json rows = Json::array();
    for (const auto& row : list)
      rows.push_back({{"name", row.name},
                      {"available", row.available},
                      {"description", row.description},
                      {"missing", row.missing}});
    return rows;
  };
  Json kernels = Json::array(), facts = Json::object(), packages = Json::array(), gpu_rows = Json::object();
  for (const auto& [part, words] : gpu()) gpu_rows[std::string(part)] = words;
  for (const auto level : kLevels)
    kernels.push_back({{"name", name(level)}, {"supported", simulator::is_supported(level)}});
  for (const Fact& fact : versions()) facts[std::string(fact.name)] = fact.value;
  for (const Package& package : missing)
    packages.push_back({{"group", package.group}, {"package", package.name}, {"purpose", package.purpose}});
  return {{"kind", "doctor"},
          {"engines", rows(runtime::engines())},
          {"targets", rows(targets())},
          {"hardware", rows(flows())},
          {"cpu", native()},
          {"processor",
           {{"model", processor_model()},
            {"class", machine_class()},
            {"cap", cap().empty() ? Json(nullptr) : Json(cap())},
            {"runs", classes_here()}}},
          {"gpu", gpu_rows},
          {"mpi", mpi()},
          {"kernels", kernels},
          {"kernel", name(simulator::best_kernel_level())},
          {"versions", facts},
          {"missing_packages", known_system ? packages : Json(nullptr)},
          {"install", missing.empty() ? "" : install_line(missing)}};
}

}  // namespace dovetail::cli
