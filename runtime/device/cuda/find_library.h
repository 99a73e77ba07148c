// NVIDIA's libraries that complement the driver: loaded when needed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/shared_library.h"

namespace dovetail::runtime::cuda {

struct LibraryNames {
  std::string_view title;                   // "cuBLAS"
  const char* variable;                     // names a file; no other is then tried
  std::span<const std::string_view> files;  // newest first
  std::string_view wheel;                   // PyPI package that contains it
  std::string_view folder;                  // in the wheel: nvidia/FOLDER/lib
  std::string_view target;                  // as in --target
};

// Searches the dynamic linker's path, then CUDA_PATH, /usr/local/cuda, and the folder where `./dev deps --cuda` puts
// wheels. `bind` returns the missing function, or nothing. The library is never unloaded.
Result<std::string> find_library(const LibraryNames& names,
                                 const std::function<std::string(const SharedLibrary&)>& bind);

}  // namespace dovetail::runtime::cuda
