#include "compiler/target/cuda/kernels.h"

#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/cuda/gpu.h"
#include "compiler/target/cuda/nvrtc.h"
#include "loops/print.h"

namespace dovetail::cuda {

namespace {

// Symbols must be C identifiers, whatever the operator's name.
std::string symbol_of(std::string_view name, std::size_t number) {
  std::string symbol = fmt::format("k{}_", number);
  for (const char c : name) symbol += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return symbol;
}

}  // namespace

const Source& Kernels::add(const loops::Program& program, const loops::ThreadProgram& kernels) {
  const std::string key = loops::to_string(program);
  if (const auto known = by_text_.find(key); known != by_text_.end()) return known->second;
  Source source = emit_source(kernels, program.parameters, symbol_of(program.name, by_text_.size()));
  text_ += source.text;
  return by_text_.emplace(key, std::move(source)).first->second;
}

Result<std::vector<bundle::CudaImage>> compile_kernels(const std::string& text,
                                                       const std::vector<std::string>& architectures) {
  std::vector<bundle::CudaImage> images;
  if (text.empty()) return images;
  DOVETAIL_ASSIGN(const std::shared_ptr<const Nvrtc> nvrtc, Nvrtc::find());
  std::optional<bundle::CudaImage> ptx;  // for the oldest architecture
  for (const std::string& architecture : architectures) {
    DOVETAIL_ASSIGN(Binary binary, nvrtc->compile(text, architecture));
    images.push_back({architecture, false, std::move(binary.cubin)});
    const bool own = std::isalpha(static_cast<unsigned char>(architecture.back())) != 0;
    if (!own && (!ptx || architecture_number(architecture) < architecture_number(ptx->architecture)))
      ptx = bundle::CudaImage{architecture, true, std::move(binary.ptx)};
  }
  if (ptx) images.push_back(*std::move(ptx));
  return images;
}

}  // namespace dovetail::cuda
