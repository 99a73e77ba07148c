// The ONNX backend's node tests (model.onnx, test_data_set_*/{input,output}_*.pb) through import and reference, where
// the environment variable DOVETAIL_ONNX_NODE_TESTS names their folder. Inputs that fix shapes must be initialisers
// there.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/file.h"
#include "compiler/import/onnx.h"
#include "compiler/reference/reference.h"
#include "tests/skip.h"
#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

namespace fs = std::filesystem;

// Empty: passed.
std::string difference(const NdArray& actual, const NdArray& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape())
    return std::string(name(actual.dtype())) + to_string(actual.shape()) + ", expected " +
           std::string(name(expected.dtype())) + to_string(expected.shape());
  for (std::int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.as_double(i), e = expected.as_double(i);
    // The backend tests' own tolerances.
    if (!(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) <= 1e-7 + 1e-3 * std::abs(e)))
      return "element " + std::to_string(i) + ": " + std::to_string(a) + ", expected " + std::to_string(e);
  }
  return {};
}

Result<NdArray> read_tensor(const fs::path& path) {
  DOVETAIL_ASSIGN(const auto bytes, read_file(path));
  return import::parse_tensor_proto(bytes, path.string());
}

std::string run_directory(const fs::path& directory) {
  const Result<import::Imported> imported = import::import_onnx_file(directory / "model.onnx");
  if (!imported) return "refused: " + imported.errors().front().what + ": " + imported.errors().front().why;
  const graph::Graph& graph = imported->graph;
  const Result<Reference> reference = Reference::make(graph);
  if (!reference) return "refused: " + reference.errors().front().what + ": " + reference.errors().front().why;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.is_directory()) continue;
    std::map<std::string, NdArray> inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const Result<NdArray> value = read_tensor(entry.path() / ("input_" + std::to_string(i) + ".pb"));
      if (!value) return to_string(value.errors());
      inputs[graph.value(graph.inputs[i]).name] = *value;
    }
    const auto results = reference->run(inputs);
    if (!results) return to_string(results.errors());
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Result<NdArray> expected = read_tensor(entry.path() / ("output_" + std::to_string(i) + ".pb"));
      if (!expected) return to_string(expected.errors());
      const std::string text = difference(results->at(graph.value(graph.outputs[i]).name), *expected);
      if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    }
  }
  return {};
}

TEST_CASE("ONNX backend node tests give the standard's values, or are refused") {
  const char* folder = std::getenv("DOVETAIL_ONNX_NODE_TESTS");
  if (folder == nullptr) {
    test::skip("DOVETAIL_ONNX_NODE_TESTS names no folder");
    return;
  }
  std::vector<fs::path> directories;
  for (const auto& entry : fs::directory_iterator(folder)) directories.push_back(entry.path());
  std::ranges::sort(directories);
  int passed = 0, refused = 0;
  std::string report;
  for (const fs::path& directory : directories) {
    std::string text;
    try {
      text = run_directory(directory);
    } catch (const InternalError& error) {
      text = error.what();
    }
    if (text.empty()) {
      ++passed;
    } else if (text.starts_with("refused")) {
      ++refused;
      report += directory.filename().string() + ": " + text + "\n";
    } else {
      FAIL_CHECK(directory.filename().string() << ": " << text);
    }
  }
  std::cerr << report;
  WARN(passed << " passed, " << refused << " refused of " << directories.size());
}

}  // namespace
}  // namespace dovetail::ops
