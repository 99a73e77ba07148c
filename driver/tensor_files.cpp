#include "driver/tensor_files.h"

#include <algorithm>
#include <climits>
#include <string_view>

#include <fmt/format.h>

#include "base/expected_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"
#include "base/random.h"
#include "compiler/import/onnx.h"
#include "driver/names.h"
#include "driver/sample_files.h"
#include "driver/value_text.h"
#include "runtime/executor.h"

namespace dovetail::driver {

namespace {

constexpr std::size_t kMostTensorBytes = std::size_t{1} << 33, kMostMessageBytes = INT_MAX;  // the maximum of protobuf

NdArray random_array(const bundle::Tensor& tensor, std::uint64_t seed) {
  SplitMix64 random(seed ^ fnv1a(tensor.name));
  NdArray array(tensor.dtype, tensor.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const std::uint64_t bits = random.next() >> 32;
    if (is_floating(tensor.dtype)) array.set_double(i, static_cast<double>(bits) * 0x1p-31 - 1);
    else if (tensor.dtype == DType::boolean) array.set_int64(i, static_cast<std::int64_t>(bits & 1));
    else if (tensor.dtype == DType::uint8) array.set_int64(i, static_cast<std::int64_t>(bits & 255));
    else array.set_int64(i, static_cast<std::int64_t>(bits & 255) - (is_signed_integer(tensor.dtype) ? 128 : 0));
  }
  return array;
}

const bundle::Tensor& tensor_named(const bundle::Bundle& bundle, const std::string& name) {
  return bundle.tensors[static_cast<std::size_t>(*std::ranges::find_if(bundle.inputs, [&](bundle::TensorIndex index) {
    return bundle.tensors[static_cast<std::size_t>(index)].name == name;
  }))];
}

}  // namespace

Result<NdArray> read_tensor(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, path.extension() == ".pb"
                                                          ? read_file(path, kMostMessageBytes)
                                                          : read_file(path, kMostTensorBytes, {"a .npy file", is_npy}));
  return parse_tensor(bytes, path);
}

Result<NdArray> parse_tensor(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  if (is_npy(bytes)) return parse_npy(bytes, path.string());
  if (path.extension() == ".pb") return import::parse_tensor_proto(bytes, path.string());
  return Diagnostic{"cannot read tensor", path.string(), "the file is neither a .npy file nor named .pb",
                    "write the tensor with numpy.save, or give a serialized ONNX TensorProto as FILE.pb"};
}

const bundle::Bundle& program_for(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& given) {
  const auto takes = [&](const bundle::Bundle& program) {
    return std::ranges::all_of(program.inputs, [&](bundle::TensorIndex index) {
      const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
      const auto array = given.find(tensor.name);
      return array == given.end() || array->second.shape() == tensor.shape;
    });
  };
  if (takes(bundle)) return bundle;
  const auto other = std::ranges::find_if(bundle.other_shapes, takes);
  return other == bundle.other_shapes.end() ? bundle : *other;
}

Result<RunInputs> gather_inputs(const bundle::Bundle& bundle, const std::map<std::string, std::string>& files,
                                std::uint64_t seed, Rows rows, const std::optional<Preprocess>& preprocess) {
  std::vector<std::string> names;
  for (const bundle::TensorIndex index : bundle.inputs)
    names.push_back(bundle.tensors[static_cast<std::size_t>(index)].name);

  RunInputs inputs;
  Diagnostics problems;
  for (const auto& [given, file] : files) {
    const auto name = match_name("--input", "input", names, given);
    const auto array = name.ok() ? read_rows(file, tensor_named(bundle, *name), preprocess) : name.errors();
    if (!array.ok()) {
      problems.insert(problems.end(), array.errors().begin(), array.errors().end());
    } else if (!inputs.tensors.emplace(*name, *array).second) {
      problems.push_back(
          {"invalid value for --input", given, fmt::format("input {} is given twice", *name), "give it only once"});
    } else {
      inputs.announcements.push_back(
          fmt::format("{}: {} from {}", *name, type_text(array->dtype(), array->shape()), file));
    }
  }
  if (!problems.empty()) return problems;
  const bundle::Bundle& program = program_for(bundle, inputs.tensors);
  for (const bundle::TensorIndex index : program.inputs) {
    const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
    if (inputs.tensors.contains(tensor.name)) continue;
    if (std::ranges::find(program.states, index, &bundle::State::input) != program.states.end()) {
      inputs.tensors.emplace(tensor.name, NdArray(tensor.dtype, tensor.shape));
      inputs.announcements.push_back(
          fmt::format("{}: {} of zeros, the first value of the state (--input {}=FILE sets it)", tensor.name,
                      type_text(tensor.dtype, tensor.shape), plain_name(tensor.name)));
      continue;
    }
    inputs.tensors.emplace(tensor.name, random_array(tensor, seed));
    inputs.announcements.push_back(fmt::format("{}: {} of random values, seed {} (--input {}=FILE sets it)",
                                               tensor.name, type_text(tensor.dtype, tensor.shape), seed,
                                               plain_name(tensor.name)));
  }
  if (rows == Rows::as_taken) DOVETAIL_TRY(runtime::check_inputs(program, inputs.tensors));
  return inputs;
}

Result<std::vector<std::string>> output_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& outputs) {
  std::map<std::string, std::string> taken;  // path -> output
  std::vector<std::string> paths;
  for (const std::string& name : outputs) {
    paths.push_back((folder / (plain_name(name) + ".npy")).string());
    if (const auto [entry, inserted] = taken.emplace(paths.back(), name); !inserted)
      return Diagnostic{"cannot write outputs", folder.string(),
                        fmt::format("outputs {} and {} would both be written to {}", entry->second, name, paths.back()),
                        "rename one of them in the model"};
  }
  return paths;
}

Result<void> make_result_folder(std::string_view source, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) return {};
  return Diagnostic{"cannot create the folder", folder.string(), error ? error.message() : "a file of that name exists",
                    fmt::format("give another folder with {}", source), cause_of(error.value())};
}

Result<std::vector<std::string>> write_outputs(const std::filesystem::path& folder,
                                               const std::map<std::string, NdArray>& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, array] : outputs) names.push_back(name);
  DOVETAIL_ASSIGN(const std::vector<std::string> paths, output_files(folder, names));
  DOVETAIL_TRY(make_result_folder("--output-dir", folder));
  for (std::size_t i = 0; i < names.size(); ++i) DOVETAIL_TRY(write_npy(paths[i], outputs.at(names[i])));
  return paths;
}

}  // namespace dovetail::driver
