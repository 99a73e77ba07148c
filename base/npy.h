// NumPy's .npy (format 1.0 to 3.0) and .npz files. Fortran order and big-endian data are converted on reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail {

// Whether a file begins like a .npy.
bool is_npy(std::span<const std::byte> file);
Result<NdArray> parse_npy(std::span<const std::byte> bytes, std::string_view where);
Result<NdArray> read_npy(const std::filesystem::path& path);
std::vector<std::byte> format_npy(const NdArray& array);  // bfloat16 is written as its bits, uint16
Result<void> write_npy(const std::filesystem::path& path, const NdArray& array);

// Reads stored and deflated members; each member "<name>.npy" becomes an entry `name`.
Result<std::map<std::string, NdArray>> parse_npz(std::span<const std::byte> bytes, std::string_view where);
Result<std::map<std::string, NdArray>> read_npz(const std::filesystem::path& path);
Result<void> write_npz(const std::filesystem::path& path, const std::map<std::string, NdArray>& arrays);

}  // namespace dovetail
