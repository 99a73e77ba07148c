// NVIDIA's run-time compiler, loaded when it is needed: nothing is linked, and a program that never compiles for a GPU
// does without. https://docs.nvidia.com/cuda/nvrtc
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
  std::vector<std::byte> ptx;  // of the architecture without its own instructions: later ones can translate it
};

class Nvrtc {
 public:
  virtual ~Nvrtc() = default;

  // Where DOVETAIL_NVRTC names a file, that one; else as the loader finds it, in a toolkit (CUDA_PATH,
  // /usr/local/cuda), or where `./dev deps --cuda` or pip has put it. Error: there is none of version 12.0 or later;
  // how to get one.
  static Result<std::shared_ptr<const Nvrtc>> find();

  virtual std::string version() const = 0;             // "13.0"
  virtual std::vector<int> architectures() const = 0;  // 80 for sm_80
  virtual const std::string& path() const = 0;         // by which it was loaded

  // One module. `text` is what follows prelude() (codegen/source.h). Errors: an architecture that this version
  // does not know; what the compiler says, which is a fault of ours.
  virtual Result<Binary> compile(const std::string& text, const std::string& architecture) const = 0;
};

}  // namespace dovetail::cuda
