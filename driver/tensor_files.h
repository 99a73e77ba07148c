// Tensors from and to files, and the inputs of a run.
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

// The same of a file's bytes; `path` names them.
Result<NdArray> parse_tensor(std::span<const std::byte> bytes, const std::filesystem::path& path);

struct RunInputs {
  std::map<std::string, NdArray> tensors;  // by name; of many samples, all of them
  std::vector<std::string> announcements;  // one line each: where it comes from
};
// The program that takes these inputs, or rows of them; the first where none does.
const bundle::Bundle& program_for(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& given);
// Inputs from `files`, by names as match_name() takes them; those not named get pseudo-random values that depend on
// `seed` and their name only: floats uniform in [-1, 1), 8-bit integers over their range, others in [-128, 127], bools
// either. Error, among others: what the program does not take; with Rows::many that is left to Samples
// (driver/samples.h).
enum class Rows { as_taken, many };
// Pictures become inputs as `preprocess` says (driver/sample_files.h).
Result<RunInputs> gather_inputs(const bundle::Bundle& bundle, const std::map<std::string, std::string>& files,
                                std::uint64_t seed, Rows rows = Rows::as_taken,
                                const std::optional<Preprocess>& preprocess = std::nullopt);

// The file of each output: folder/<plain name>.npy. Error: two would share one.
Result<std::vector<std::string>> output_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& outputs);
// A folder that results are to be written to: this one, not the folders around it. `source`: what named it.
Result<void> make_result_folder(std::string_view source, const std::filesystem::path& folder);
// Writes them, or nothing where that is an error.
Result<std::vector<std::string>> write_outputs(const std::filesystem::path& folder,
                                               const std::map<std::string, NdArray>& outputs);

}  // namespace dovetail::driver
