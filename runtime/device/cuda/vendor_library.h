// An NVIDIA library (cuBLAS, cuDNN) that runs steps of a separate target, loaded when a bundle has such steps, and its
// handle on a context.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/shared_library.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/find_library.h"

namespace dovetail::runtime::cuda {

using VendorStatus = int;  // 0: done

// Statuses for which a user can do something.
enum class Trouble { other, not_initialized, no_memory, other_architecture };
Diagnostic vendor_refusal(const LibraryNames& names, std::string_view action, VendorStatus status, const char* text,
                          Trouble trouble);

// Binds functions by name; records the first one that is missing.
class Binding {
 public:
  explicit Binding(const SharedLibrary& library) : library_(library) {}
  template <typename Pointer>
  void operator()(Pointer& pointer, const char* symbol) {
    pointer = reinterpret_cast<Pointer>(library_.find(symbol));
    if (pointer == nullptr && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

 private:
  const SharedLibrary& library_;
  std::string missing_;
};

// `Functions` are those of the library, among them `status_text` and `destroy`, with
//   static const LibraryNames& names();
//   void bind_all(Binding&);
//   std::string too_old() const;                         // reason; empty: not too old
//   VendorStatus start(void** handle, StreamHandle) const;  // creates what `destroy` destroys
//   static Trouble trouble_of(VendorStatus);
template <typename Functions>
class VendorLibrary {
 public:
  // Loads the file that the variable of `names` names; else searches as find_library does. Error: there is
  // none, or it is too old.
  static Result<std::shared_ptr<const Functions>> find(std::string* path = nullptr) {
    auto functions = std::make_shared<Functions>();
    DOVETAIL_ASSIGN(const std::string found,
                    find_library(Functions::names(), [&](const SharedLibrary& library) -> std::string {
                      Binding binding(library);
                      functions->bind_all(binding);
                      return binding.missing().empty() ? functions->too_old() : "has no function " + binding.missing();
                    }));
    if (path != nullptr) *path = found;
    return std::shared_ptr<const Functions>(std::move(functions));
  }
  // Precondition: the context is current.
  static Result<std::shared_ptr<const VendorLibrary>> open(std::shared_ptr<Context> context) {
    std::shared_ptr<VendorLibrary> library(new VendorLibrary);
    DOVETAIL_ASSIGN(library->functions_, find());
    library->context_ = std::move(context);
    DOVETAIL_TRY(library->check(library->functions_->start(&library->handle_, library->context_->stream()),
                                "starting the library"));
    return std::shared_ptr<const VendorLibrary>(std::move(library));
  }
  ~VendorLibrary() {
    if (handle_ != nullptr && context_->make_current().ok()) functions_->destroy(handle_);
  }
  VendorLibrary(const VendorLibrary&) = delete;
  VendorLibrary& operator=(const VendorLibrary&) = delete;

  const Functions& functions() const { return *functions_; }
  void* handle() const { return handle_; }
  Result<void> check(VendorStatus status, std::string_view action) const {
    if (status == 0) return {};
    return vendor_refusal(Functions::names(), action, status, functions_->status_text(status),
                          Functions::trouble_of(status));
  }

 private:
  VendorLibrary() = default;
  std::shared_ptr<Context> context_;
  std::shared_ptr<const Functions> functions_;
  void* handle_ = nullptr;
};

}  // namespace dovetail::runtime::cuda
