// The tools of MLIR's releases, found by name; a test without them is skipped.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/process.h"
#include "tests/skip.h"

namespace dovetail::mlir::test {

struct Tools {
  int version;
  std::string opt, runner;
};

inline std::optional<std::string> find_tool(const std::string& name, int version) {
  std::vector<std::string> places;
  if (const char* path = std::getenv("PATH")) {
    std::string rest = path;
    while (!rest.empty()) {
      const std::size_t end = rest.find(':');
      places.push_back(rest.substr(0, end) + "/" + name + "-" + std::to_string(version));
      rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
  }
  places.push_back(fmt::format("/usr/lib/llvm-{}/bin/{}", version, name));
  for (const std::string& place : places)
    if (std::filesystem::exists(place)) return place;
  return std::nullopt;
}

// Releases of which both tools are installed.
inline std::vector<Tools> installed_tools() {
  std::vector<Tools> result;
  for (const int version : {19, 22}) {
    const auto opt = find_tool("mlir-opt", version);
    const auto runner = find_tool(version < 20 ? "mlir-cpu-runner" : "mlir-runner", version);
    if (opt && runner) result.push_back({version, *opt, *runner});
    else dovetail::test::skip(fmt::format("mlir-opt and its runner of release {} are not installed", version));
  }
  return result;
}

// The runner does not know the attribute that the emulation of halves leaves.
inline void remove_attributes(const std::string& file) {
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string attribute = " {fastmath = #arith.fastmath<contract>}";
  for (std::size_t at = 0; (at = text.find(attribute, at)) != std::string::npos;) text.erase(at, attribute.size());
  std::ofstream(file) << text;
}

// Lowering to LLVM's dialect, for the runner.
inline std::vector<std::string> lowering() {
  return {"--lower-affine",
          "--expand-strided-metadata",
          "--lower-affine",
          "--convert-scf-to-cf",
          "--arith-emulate-unsupported-floats=source-types=bf16,f16 target-type=f32",
          "--convert-math-to-llvm",
          "--convert-math-to-libm",
          "--arith-expand=include-bf16=true",
          "--convert-vector-to-llvm",
          "--convert-arith-to-llvm",
          "--finalize-memref-to-llvm",
          "--convert-func-to-llvm",
          "--convert-cf-to-llvm",
          "--reconcile-unrealized-casts"};
}

}  // namespace dovetail::mlir::test
