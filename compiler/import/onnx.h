// ONNX protobuf to Graph. Any IR version, any operator set whose operators are known (operator_versions.h). Everything
// that is not supported is reported at once, with node names and remedies.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

inline constexpr std::int64_t kDefaultLoopLimit = 1000;
// The entry of a model's metadata_props that sets Graph::apart.
inline constexpr const char *kApartKey = "dovetail.parts", *kApart = "apart";

struct ImportOptions {
  // Extents for symbolic dimensions by dim_param name, or an input's whole shape by input name ("--shape
  // NAME=1x3x224x224", "--shape batch=1"). A symbolic first dimension without an entry becomes 1, which the report
  // notes.
  std::map<std::string, Shape> shapes;
  // The first extent of inputs for which `shapes` has no entry. Error: the model fixes another, or has no input with a
  // symbolic first extent. Absent: that of the model, or 1.
  std::optional<std::int64_t> batch = std::nullopt;
  std::filesystem::path external_data_folder;  // external tensor files must be inside it
  // Values of inputs, by name. They fix open extents of their shapes. An input whose value must be known at compile
  // time becomes a constant with this value, which the report notes.
  std::map<std::string, NdArray> values = {};
  // Maximum number of iterations of a Loop whose trip count depends on data, unless a constant trip count limits it.
  std::int64_t loop_limit = kDefaultLoopLimit;
};

struct ImportReport {
  std::int64_t ir_version = 0, opset = 0;
  std::string producer;
  std::map<std::string, int> operators;              // histogram of what was imported
  std::vector<std::string> notes;                    // assumptions made (symbolic batch = 1, ...)
  std::map<std::string, std::string> metadata = {};  // the model's metadata_props, unchanged
  std::set<std::filesystem::path> data_files = {};   // external tensor files
};

struct Imported {
  graph::Graph graph;
  ImportReport report;
};

// The bytes of a model's file, or of a pipe, which is refused early if it delivers something else.
Result<std::vector<std::byte>> read_onnx_file(const std::filesystem::path& path);

Result<Imported> import_onnx(std::span<const std::byte> bytes, std::string_view where,
                             const ImportOptions& options = {});
Result<Imported> import_onnx_file(const std::filesystem::path& path, ImportOptions options = {});

// Names of a file's inputs (older files list initializers among them) and outputs, in its order, and the operators of
// its nodes.
struct OnnxNames {
  std::vector<std::string> inputs, outputs;
  std::set<std::string> operators;
};
Result<OnnxNames> onnx_names(const std::filesystem::path& path);

// Summary of a file before anything is imported: extents that are not numbers stay as written.
struct OnnxOutline {
  struct Border {
    std::string name, type;  // "float32[batch, 3, ?, width]"; "?": no name; "float32": no shape
  };
  std::string graph, producer;
  std::int64_t ir_version = 0, opset = 0;
  std::vector<Border> inputs, outputs;   // without initializers
  std::set<std::string> symbols;         // symbolic extents of inputs
  bool has_open_extents = false;         // some input has one
  std::map<std::string, int> operators;  // operators of the main graph, counted
};
Result<OnnxOutline> outline_onnx(std::span<const std::byte> bytes, std::string_view where);

// The folder that must contain the external tensors of a model file: its own; empty: a file descriptor, which has none.
std::filesystem::path external_data_folder(const std::filesystem::path& path);

// A serialized TensorProto (.pb test data).
Result<NdArray> parse_tensor_proto(std::span<const std::byte> bytes, std::string_view where);

}  // namespace dovetail::import
