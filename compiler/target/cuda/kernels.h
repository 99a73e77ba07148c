// The kernels of a region or program: one text, compiled for several architectures.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/code/cuda.h"
#include "compiler/target/cuda/codegen/source.h"
#include "loops/ir.h"
#include "loops/threads/thread_program.h"

namespace dovetail::cuda {

// Distinct kernels in one text. Equal programs share kernels.
class Kernels {
 public:
  // `kernels`: what `program` was lowered to.
  const Source& add(const loops::Program& program, const loops::ThreadProgram& kernels);
  const std::string& text() const { return text_; }
  std::size_t count() const { return by_text_.size(); }

 private:
  std::map<std::string, Source> by_text_;
  std::string text_;
};

// Machine code for each architecture, and PTX for the oldest without separate instructions. Errors: NVRTC is missing,
// or does not know an architecture.
Result<std::vector<bundle::CudaImage>> compile_kernels(const std::string& text,
                                                       const std::vector<std::string>& architectures);

}  // namespace dovetail::cuda
