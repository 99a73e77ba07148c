// Reads and writes tensors, and gathers the inputs of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "driver/preprocess.h"

namespace dovetail::driver {

// .npy, or a serialized ONNX TensorProto (.pb), distinguished by content.
Result<NdArray> read_tensor(const std::filesystem::path& path);

// The same from the bytes of a file; `path` names it in diagnostics.
Result<NdArray> parse_tensor(std::span<const std::byte> bytes, const std::filesystem::path& path);

struct RunInputs {
  std::map<std::string, NdArray> tensors;  // by name; with the rows of all samples
  std::vector<std::string> announcements;  // a line for each input: its origin
};
// The program of the bundle whose inputs have the shapes of these arrays or of their rows; else the first program.
const bundle::Bundle& program_for(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& given);
// Reads inputs from `files`, by names as for match_name(). Inputs without a file get pseudo-random values that depend
// only on `seed` and their name: floats uniform in [-1, 1), 8-bit integers over their range, others in [-128, 127],
// random bools. States (bundle::State) without a file are zeros. Errors include arrays that do not fit the program;
// with Rows::many the caller checks them with Samples (driver/samples.h).
enum class Rows { as_taken, many };
// `preprocess` turns pictures into inputs (driver/sample_files.h).
Result<RunInputs> gather_inputs(const bundle::Bundle& bundle, const std::map<std::string, std::string>& files,
                                std::uint64_t seed, Rows rows = Rows::as_taken,
                                const std::optional<Preprocess>& preprocess = std::nullopt);

// The file of each output: folder/<plain name>.npy. Error: two outputs would have the same file.
Result<std::vector<std::string>> output_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& outputs);
// Creates a folder for results, but not its parent folders. `source`: the option that named it.
Result<void> make_result_folder(std::string_view source, const std::filesystem::path& folder);
// Writes the outputs. Writes no file if two would have the same name.
Result<std::vector<std::string>> write_outputs(const std::filesystem::path& folder,
                                               const std::map<std::string, NdArray>& outputs);

}  // namespace dovetail::driver
