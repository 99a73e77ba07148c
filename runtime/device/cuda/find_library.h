// NVIDIA's libraries that go with the driver: opened when they are needed.
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
  const char* variable;                     // names a file, and no other is looked at
  std::span<const std::string_view> files;  // newest first
  std::string_view wheel;                   // PyPI's package that has it
  std::string_view folder;                  // of the wheel: nvidia/FOLDER/lib
  std::string_view target;                  // as in --target
};

// As the loader finds it; else in CUDA_PATH, /usr/local/cuda, and where `./dev deps --cuda` puts wheels. `bind` says
// which function is missing, or nothing. Once it is loaded it stays.
Result<std::string> find_library(const LibraryNames& names,
                                 const std::function<std::string(const SharedLibrary&)>& bind);

}  // namespace dovetail::runtime::cuda
