// NVIDIA's run-time compiler, loaded when needed: it is not linked, and a program that never compiles for a GPU does
// not need it. https://docs.nvidia.com/cuda/nvrtc
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cuda {

struct Binary {
  std::vector<std::byte> cubin;
  std::vector<std::byte> ptx;  // for the architecture without its specific instructions: later ones can translate it
};

class Nvrtc {
 public:
  virtual ~Nvrtc() = default;

  // The file named by DOVETAIL_NVRTC if it is set; else found by the loader, in a toolkit (CUDA_PATH, /usr/local/cuda),
  // or where `./dev deps --cuda` or pip puts it. Error: there is no version 12.0 or later; explains how to get one.
  static Result<std::shared_ptr<const Nvrtc>> find();

  virtual std::string version() const = 0;             // "13.0"
  virtual std::vector<int> architectures() const = 0;  // 80 for sm_80
  virtual const std::string& path() const = 0;         // path it was loaded from

  // Compiles one module. `text` follows prelude() (codegen/source.h). Errors: an architecture that this version does
  // not support; compiler errors, which are bugs of ours.
  virtual Result<Binary> compile(const std::string& text, const std::string& architecture) const = 0;
};

}  // namespace dovetail::cuda
