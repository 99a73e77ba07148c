#include "driver/kept_tensors.h"

#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "compiler/layout/layout.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

constexpr const char* kShapes = "shapes";  // a key in a bundle's report

// The model's shape of a tensor in a target's layout. It is read from a file, so it may be invalid.
std::optional<Shape> shape_of(const bundle::Bundle& bundle, const std::string& value) {
  if (!bundle.report.is_object() || !bundle.report.contains(kShapes)) return std::nullopt;
  const Json& shapes = bundle.report[kShapes];
  if (!shapes.is_object() || !shapes.contains(value) || !shapes[value].is_array()) return std::nullopt;
  Shape shape;
  for (const Json& extent : shapes[value]) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (!extent.is_number_integer() || extent.get<std::int64_t>() < 1 || extent.get<std::int64_t>() > kMost)
      return std::nullopt;
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

// The tensor under the value's name and in the value's shape; nullopt if this is not possible.
std::optional<NdArray> unpacked(const bundle::Bundle& bundle, const bundle::Tensor& tensor, const NdArray& array) {
  const auto shape = shape_of(bundle, tensor.logical);
  if (!shape) return std::nullopt;
  const auto layout = parse_layout(tensor.layout, *shape);
  if (!layout.ok() || !layout->holds_all() || layout->physical_shape() != array.shape()) return std::nullopt;
  return unpack(array, *layout);
}

}  // namespace

void remember_shapes(bundle::Bundle& bundle, const graph::Graph& graph) {
  Json shapes = Json::object();
  for (const bundle::Tensor& tensor : bundle.tensors)
    if (const auto value = graph.find_value(tensor.logical); !tensor.layout.empty() && value)
      shapes[tensor.logical] = graph.value(*value).type.shape;
  bundle.report[kShapes] = std::move(shapes);
}

std::vector<KeptTensor> kept_tensors(const bundle::Bundle& bundle, const runtime::RunResult& run) {
  std::vector<KeptTensor> tensors;
  std::set<std::string> known;
  const auto add = [&](const std::string& name, const std::string& step, NdArray array) {
    if (known.insert(name).second) tensors.push_back({name, step, std::move(array)});
  };
  for (const bundle::Step& step : bundle.steps)
    for (const bundle::TensorIndex index : step.results) {
      const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
      const auto kept = run.tensors.find(tensor.name);
      if (kept == run.tensors.end()) continue;
      std::optional<NdArray> plain;
      if (!tensor.layout.empty()) plain = unpacked(bundle, tensor, kept->second);
      const auto output = run.outputs.find(tensor.name);
      if (plain) add(tensor.logical, step.name, *std::move(plain));
      else if (output != run.outputs.end()) add(tensor.name, step.name, output->second);  // cut to its extent
      else add(tensor.name, step.name, kept->second);
    }
  for (const auto& [name, array] : run.outputs) add(name, "", array);
  return tensors;
}

Result<void> write_tensors(const std::filesystem::path& folder, const std::vector<KeptTensor>& tensors) {
  std::vector<std::string> names;
  for (const KeptTensor& tensor : tensors) names.push_back(tensor.name);
  DOVETAIL_ASSIGN(const std::vector<std::string> paths, output_files(folder, names));
  DOVETAIL_TRY(make_result_folder("--dump-tensors", folder));
  Json index = Json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const KeptTensor& tensor = tensors[i];
    DOVETAIL_TRY(write_npy(paths[i], tensor.array));
    index.push_back({{"name", tensor.name},
                     {"file", std::filesystem::path(paths[i]).filename().string()},
                     {"step", tensor.step},
                     {"dtype", name(tensor.array.dtype())},
                     {"shape", tensor.array.shape()}});
  }
  return write_text_file(folder / "index.json", json_text(index));
}

Result<std::map<std::string, NdArray>> read_expected(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return read_npz(path);
  std::map<std::string, NdArray> arrays;
  std::filesystem::directory_iterator files(path, error), end;
  for (; !error && files != end; files.increment(error)) {
    if (files->path().extension() != ".npy") continue;
    DOVETAIL_ASSIGN(NdArray array, read_npy(files->path()));
    arrays.emplace(files->path().stem().string(), std::move(array));
  }
  if (error || arrays.empty())
    return Diagnostic{"cannot read the expected tensors", path.string(),
                      error ? error.message() : "the folder has no .npy file",
                      "give a folder with NAME.npy files, or a .npz file"};
  return arrays;
}

}  // namespace dovetail::driver
