// Exports bundles, compiles them with the C compiler of this machine, and runs their tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/code/host.h"
#include "driver/export_model.h"
#include "export/project.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

namespace dovetail::test {

// The number in an environment variable.
inline std::uint64_t number_of(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

// The path of a program; empty: it is not installed.
inline std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

inline constexpr const char* kNoCompiler = "there is no gcc, of packages.txt";

inline std::vector<std::string> strict_flags() {
  return {"-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"};
}

// How to compile for a processor and run there.
struct Toolchain {
  std::string processor;                        // cpu::cpu_names
  std::vector<std::string> compiler, emulator;  // with their options
};

// Compiles the project in `folder` and runs its test. Empty: both succeeded; else the messages. The mathematical
// library of this machine is also the reference's, so that even its functions agree in all bits.
inline std::string build_and_run(const std::filesystem::path& folder, const std::string& name, const Toolchain& tools,
                                 const std::vector<std::string>& flags) {
  std::vector<std::string> command = tools.compiler;
  for (const std::string& flag : strict_flags()) command.push_back(flag);
  command.insert(command.end(), flags.begin(), flags.end());
  command.emplace_back("-DTOLERANCE=0");
  const std::string program = folder / "run";
  for (const std::string& source : {"test_" + name + ".c", std::string("dovetail_tiny.c"), name + ".c", name + ".a"})
    if (std::filesystem::exists(folder / source)) command.push_back(folder / source);
  command.insert(command.end(), {"-o", program, "-lm"});
  const Finished compiled = run_process(command, std::chrono::seconds(600));
  if (compiled.exit != 0) return compiled.error + compiled.out;
  std::vector<std::string> started = tools.emulator;
  started.push_back(program);
  const Finished ran = run_process(started);
  std::filesystem::remove(program);
  if (ran.exit == 0 && ran.out == "all outputs are as expected\n" && ran.error.empty()) return "";
  return fmt::format("exit {}, signal {}\n{}{}", ran.exit, ran.signal, ran.out, ran.error);
}

inline std::string build_and_run(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& compiler, const std::vector<std::string>& flags) {
  return build_and_run(folder, name, Toolchain{"", {compiler}, {}}, flags);
}

// The same for a bundle's loop programs as objects. `inputs` by name; others are drawn.
inline std::string run_objects(const bundle::Bundle& bundle, const Toolchain& tools,
                               std::map<std::string, NdArray> inputs = {}) {
  const TemporaryFolder folder;
  const auto objects = driver::object_bundle(bundle, tools.processor, "net");
  if (!objects.ok()) return to_string(objects.errors());
  const auto exported = driver::export_objects(*objects, bundle, bundle.name,
                                               {.object = exporting::ObjectKernels{.processor = tools.processor}},
                                               {.tensors = std::move(inputs)});
  if (!exported.ok()) return to_string(exported.errors());
  if (const auto written =
          exporting::write_project(folder / "net", exported->plan, exported->golden, exported->archive);
      !written.ok())
    return to_string(written.errors());
  return build_and_run(folder / "net", "net", tools, {"-O1"});
}

// The same for a bundle as C.
inline std::string run_exported(const bundle::Bundle& bundle, const std::string& compiler,
                                const std::vector<std::string>& flags, std::map<std::string, NdArray> inputs = {}) {
  const TemporaryFolder folder;
  const auto exported = driver::export_bundle(bundle, bundle.name, {}, {.tensors = std::move(inputs)});
  if (!exported.ok()) return to_string(exported.errors());
  if (const auto written = exporting::write_project(folder / "net", exported->plan, exported->golden); !written.ok())
    return to_string(written.errors());
  return build_and_run(folder / "net", "net", compiler, flags);
}

// Adds the program of `part` to `all`; the names of its tensors and steps begin with `prefix`.
inline void add_program(bundle::Bundle& all, bundle::Bundle part, const std::string& prefix) {
  const auto moved = static_cast<bundle::TensorIndex>(all.tensors.size());
  for (bundle::Tensor& tensor : part.tensors) {
    tensor.name = prefix + tensor.name;
    tensor.offset.reset();
    if (tensor.view_of) *tensor.view_of += moved;
    all.tensors.push_back(std::move(tensor));
  }
  for (bundle::Step& step : part.steps) {
    step.name = prefix + step.name;
    for (bundle::TensorIndex& index : step.arguments) index += moved;
    for (bundle::TensorIndex& index : step.results) index += moved;
    all.steps.push_back(std::move(step));
  }
  for (const bundle::TensorIndex index : part.inputs) all.inputs.push_back(index + moved);
  for (const bundle::TensorIndex index : part.outputs) all.outputs.push_back(index + moved);
}

// A bundle whose only step is the program, with all parameters but the results as inputs, named after its buffers.
inline bundle::Bundle bundle_of(const loops::Program& program, const std::string& name) {
  bundle::Bundle result;
  result.name = name;
  bundle::Step step;
  step.name = name;
  bundle::encode(bundle::HostCode{program}, step);
  for (const loops::Parameter& parameter : program.parameters) {
    const auto index = static_cast<bundle::TensorIndex>(result.tensors.size());
    result.tensors.push_back(
        {.name = parameter.buffer->name, .dtype = parameter.buffer->dtype, .shape = parameter.buffer->shape});
    const bool output = parameter.role == loops::ParameterRole::output;
    (output ? step.results : step.arguments).push_back(index);
    (output ? result.outputs : result.inputs).push_back(index);
  }
  result.steps.push_back(std::move(step));
  return result;
}

}  // namespace dovetail::test
