// The models and samples next to the repository (shared/models): their paths, and a sample's arrays by graph value
// name.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/npy.h"
#include "compiler/graph/graph.h"
#include "tests/catch.h"
#include "tests/skip.h"

namespace dovetail::test {

namespace fs = std::filesystem;

inline fs::path models_folder() { return fs::path(DOVETAIL_SOURCE_DIR) / ".." / "shared" / "models"; }
// Small models that other tools wrote.
inline fs::path cases_folder() { return fs::path(DOVETAIL_SOURCE_DIR) / ".." / "shared" / "cases"; }

// 1: models that every run of the tests covers; 2 and more: all models. Set by DOVETAIL_TEST_SCALE.
inline int test_scale() {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return text ? std::max(1, std::atoi(text)) : 1;
}

// The model's file; empty, with the test skipped, where it is missing.
inline fs::path model_file(const std::string& model) {
  const fs::path file = models_folder() / model / "model.onnx";
  if (fs::exists(file)) return file;
  skip(file.string() + " is not there");
  return {};
}

// A file of the small inputs next to the repository (shared/cases); empty, with the test skipped, where it is missing.
inline fs::path shared_case(const std::string& name) {
  const fs::path file = cases_folder() / name;
  if (fs::exists(file)) return file;
  skip(file.string() + " is not there");
  return {};
}

inline std::vector<fs::path> samples_of(const fs::path& model) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(model.parent_path()))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

inline std::string file_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '.' && c != '-'; },
      '_');
  return name;
}

// "in" or "out" arrays of a sample.
inline std::map<std::string, NdArray> read_arrays(const fs::path& sample, const graph::Graph& graph,
                                                  const std::vector<graph::ValueId>& values,
                                                  const std::string& prefix) {
  std::map<std::string, NdArray> arrays;
  for (graph::ValueId id : values) {
    const std::string& name = graph.value(id).name;
    auto array = read_npy(sample / (prefix + "_" + file_name(name) + ".npy"));
    if (!array) FAIL(to_string(array.errors()));
    arrays.emplace(name, *std::move(array));
  }
  return arrays;
}

inline std::int64_t arg_max(const NdArray& array) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < array.count(); ++i)
    if (array.as_double(i) > array.as_double(best)) best = i;
  return best;
}

}  // namespace dovetail::test
