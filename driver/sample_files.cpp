#include "driver/sample_files.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/expected_file.h"
#include "base/file.h"
#include "base/memory_limit.h"
#include "base/npy.h"
#include "driver/image.h"
#include "driver/names.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

using Arrays = std::map<std::string, NdArray>;

bool is_folder(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}

Result<std::vector<std::filesystem::path>> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (const auto& path = entry->path(); !path.filename().string().starts_with('.')) files.push_back(path);
  if (error) return Diagnostic{"cannot read samples", folder.string(), error.message(), "check the folder"};
  if (files.empty())
    return Diagnostic{"cannot read samples", folder.string(), "the folder is empty", "put samples into the folder"};
  std::ranges::sort(files);
  return files;
}

// Concatenates along the first axis. `row`: type and shape of one row.
Result<NdArray> put_together(const std::vector<NdArray>& parts, const std::vector<std::filesystem::path>& files,
                             const Shape& row) {
  Shape shape = row;
  shape.insert(shape.begin(), 0);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape& own = parts[i].shape();
    const bool is_row = own == row,
               is_rows = own.size() == shape.size() && std::equal(row.begin(), row.end(), own.begin() + 1);
    if (parts[i].dtype() != parts[0].dtype() || !(is_row || is_rows))
      return Diagnostic{"cannot read samples", files[i].string(),
                        fmt::format("the sample is {}, but the first one is {}", type_text(parts[i].dtype(), own),
                                    type_text(parts[0].dtype(), row)),
                        "give samples of the same type and shape"};
    shape[0] += is_row ? 1 : own[0];
    bytes += parts[i].bytes().size();
  }
  DOVETAIL_TRY(check_memory("cannot read samples", files[0].parent_path().string(), bytes));
  NdArray all(parts[0].dtype(), shape);
  std::size_t at = 0;
  for (const NdArray& part : parts) {
    std::memcpy(all.bytes().data() + at, part.bytes().data(), part.bytes().size());
    at += part.bytes().size();
  }
  return all;
}

Result<NdArray> read_one(const std::filesystem::path& path, const bundle::Tensor& input,
                         const std::optional<Preprocess>& preprocess) {
  const auto may_begin = [&](std::span<const std::byte> so_far) {
    return is_image(so_far) || is_npy(so_far) || path.extension() == ".pb";
  };
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes,
                  read_file(path, std::size_t{1} << 34, {"an array or an image", may_begin}));
  if (!is_image(bytes)) return parse_tensor(bytes, path);
  if (!preprocess)
    return Diagnostic{
        "cannot use the image", path.string(),
        fmt::format("no preprocessing is given for input {}, {}", input.name, type_text(input.dtype, input.shape)),
        "give --preprocess FILE.json (docs/howto/own-data.md); `dovetail quantize` stores it in the model"};
  if (!preprocess->input.empty() && preprocess->input != input.name)
    return Diagnostic{
        "cannot use the image", path.string(),
        fmt::format("the preprocessing is for input {}, and this image is for {}", preprocess->input, input.name),
        "give an array"};
  DOVETAIL_ASSIGN(const Image image, decode_image(bytes, path.string()));
  return preprocess->apply(image, input.dtype, input.shape, path.string());
}

// The arrays of a .npz by the names of inputs. If there is one input and one array, its name does not matter.
Result<Arrays> read_named(std::string_view source, const std::filesystem::path& path,
                          const std::vector<std::string>& names) {
  DOVETAIL_ASSIGN(Arrays given, read_npz(path));
  if (given.size() == 1 && names.size() == 1) return Arrays{{names[0], std::move(given.begin()->second)}};
  Arrays tensors;
  for (auto& [name, array] : given) {
    DOVETAIL_ASSIGN(const std::string input, match_name(source, "input", names, name));
    tensors.emplace(input, std::move(array));
  }
  return tensors;
}

Result<Arrays> read_named_folder(std::string_view source, const std::vector<std::filesystem::path>& files,
                                 const bundle::Bundle& bundle, const std::vector<std::string>& names) {
  std::map<std::string, std::vector<NdArray>> parts;
  for (const auto& file : files) {
    DOVETAIL_ASSIGN(Arrays arrays, read_named(source, file, names));
    for (auto& [name, array] : arrays) parts[name].push_back(std::move(array));
  }
  Arrays tensors;
  for (const bundle::TensorIndex index : bundle.inputs) {
    const bundle::Tensor& input = bundle.tensors[static_cast<std::size_t>(index)];
    const auto own = parts.find(input.name);
    if (own == parts.end()) continue;  // reported with all missing arrays
    if (own->second.size() != files.size() || input.shape.empty())
      return Diagnostic{
          fmt::format("invalid value for {}", source), input.name,
          fmt::format("only {} of {} files have an array for this input", own->second.size(), files.size()),
          "store an array for each input in every file"};
    DOVETAIL_ASSIGN(NdArray all, put_together(own->second, files, Shape(input.shape.begin() + 1, input.shape.end())));
    tensors.emplace(input.name, std::move(all));
  }
  return tensors;
}

}  // namespace

bundle::Bundle inputs_of(const graph::Graph& graph, const std::string& name) {
  bundle::Bundle inputs;
  inputs.name = name;
  for (const graph::ValueId id : graph.inputs) {
    bundle::Tensor tensor;
    tensor.name = graph.value(id).name;
    tensor.dtype = graph.value(id).type.dtype;
    tensor.shape = graph.value(id).type.shape;
    inputs.inputs.push_back(static_cast<bundle::TensorIndex>(inputs.tensors.size()));
    inputs.tensors.push_back(std::move(tensor));
  }
  return inputs;
}

Result<NdArray> read_rows(const std::filesystem::path& path, const bundle::Tensor& input,
                          const std::optional<Preprocess>& preprocess) {
  if (!is_folder(path)) return read_one(path, input, preprocess);
  if (input.shape.empty())
    return Diagnostic{"cannot read samples", path.string(), "the input is a scalar, which has no rows", "give a file"};
  DOVETAIL_ASSIGN(const auto files, files_of(path));
  std::vector<NdArray> parts;
  for (const auto& file : files) {
    DOVETAIL_ASSIGN(NdArray part, read_one(file, input, preprocess));
    parts.push_back(std::move(part));
  }
  return put_together(parts, files, Shape(input.shape.begin() + 1, input.shape.end()));
}

Result<Arrays> read_samples(std::string_view source, const std::filesystem::path& path, const bundle::Bundle& bundle,
                            const std::optional<Preprocess>& preprocess) {
  std::vector<std::string> names;
  for (const bundle::TensorIndex index : bundle.inputs)
    names.push_back(bundle.tensors[static_cast<std::size_t>(index)].name);
  if (path.extension() == ".npz") return read_named(source, path, names);
  if (is_folder(path)) {
    DOVETAIL_ASSIGN(const auto files, files_of(path));
    if (std::ranges::all_of(files, [](const auto& file) { return file.extension() == ".npz"; }))
      return read_named_folder(source, files, bundle, names);
  }
  if (names.size() != 1)
    return Diagnostic{fmt::format("invalid value for {}", source), path.string(),
                      fmt::format("the model has {} inputs: {}", names.size(), fmt::join(names, ", ")),
                      "give a .npz file with an array for each input"};
  const bundle::Tensor& input = bundle.tensors[static_cast<std::size_t>(bundle.inputs[0])];
  DOVETAIL_ASSIGN(NdArray rows, read_rows(path, input, preprocess));
  return Arrays{{input.name, std::move(rows)}};
}

}  // namespace dovetail::driver
