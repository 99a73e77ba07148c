#include "runtime/device/cuda/launches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/device/cuda/tensor_maps.h"

namespace dovetail::runtime::cuda {

namespace {

class Launches : public StreamWork {
 public:
  Launches(std::shared_ptr<Context> context, bundle::CudaCode code, Address failure)
      : context_(std::move(context)), code_(std::move(code)), failure_(failure) {}

  Result<void> load() {
    if (std::ranges::all_of(code_.kernels, [](const auto& kernels) { return kernels.launches.empty(); })) return {};
    std::vector<bundle::CudaImage> images;
    std::vector<const bundle::CudaKernels*> of_images;
    for (const bundle::CudaKernels& kernels : code_.kernels)
      for (const bundle::CudaImage& image : kernels.images) {
        images.push_back(image);
        of_images.push_back(&kernels);
      }
    DOVETAIL_ASSIGN(const std::size_t chosen, context_->choose(images));
    kernels_ = of_images[chosen];
    DOVETAIL_ASSIGN(const ModuleHandle module, context_->module(std::span(images).subspan(chosen, 1)));
    for (const bundle::CudaLaunch& launch : kernels_->launches) {
      DOVETAIL_ASSIGN(const FunctionHandle function, context_->function(module, launch));
      functions_.push_back(function);
    }
    return {};
  }

  Result<void> begin(std::span<const Address> tensors, Address workspace) override {
    for (std::size_t i = 0; i < functions_.size(); ++i)
      DOVETAIL_TRY(launch(kernels_->launches[i], functions_[i], tensors, workspace));
    return {};
  }
  std::uint64_t workspace_bytes() const override { return kernels_ == nullptr ? 0 : kernels_->workspace_bytes; }
  bool is_empty() const override { return functions_.empty(); }
  const std::vector<std::string>* failures() const override {
    const bool reports = kernels_ != nullptr && std::ranges::any_of(kernels_->launches, &bundle::CudaLaunch::reports);
    return reports ? &kernels_->failures : nullptr;
  }
  std::uint64_t work_steps() const override { return code_.steps; }

  std::vector<KernelFacts> kernels() const override {
    const Driver& driver = context_->driver();
    std::vector<KernelFacts> list;
    if (!context_->make_current().ok()) return list;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const bundle::CudaLaunch& launch = kernels_->launches[i];
      const auto attribute = [&](int which) {
        int value = 0;
        return driver.function_attribute(&value, which, functions_[i]) == status::kSuccess ? value : 0;
      };
      KernelFacts facts{.symbol = launch.symbol,
                        .blocks = launch.grid[0] * launch.grid[1] * launch.grid[2],
                        .threads = launch.block[0] * launch.block[1] * launch.block[2],
                        .registers = attribute(kRegistersOfFunction),
                        .spilled_bytes = attribute(kLocalBytesOfFunction),
                        .shared_bytes = attribute(kSharedBytesOfFunction) + static_cast<int>(launch.shared_bytes)};
      int resident = 0;
      if (driver.occupancy(&resident, functions_[i], static_cast<int>(facts.threads),
                           static_cast<std::size_t>(launch.shared_bytes)) == status::kSuccess &&
          context_->facts().threads_of_processor > 0)
        facts.occupancy =
            static_cast<double>(resident) * static_cast<double>(facts.threads) / context_->facts().threads_of_processor;
      list.push_back(std::move(facts));
    }
    return list;
  }

 private:
  Result<void> launch(const bundle::CudaLaunch& launch, FunctionHandle function, std::span<const Address> tensors,
                      Address workspace) const {
    const Driver& driver = context_->driver();
    const auto address_of = [&](const bundle::CudaOperand& operand) {
      return operand.workspace ? workspace + operand.offset : tensors[operand.index];
    };
    std::vector<Address> values;
    for (const bundle::CudaOperand& operand : launch.operands) values.push_back(address_of(operand));
    std::vector<EncodedTensorMap> maps(launch.tensor_maps.size());
    for (std::size_t i = 0; i < maps.size(); ++i)
      DOVETAIL_TRY(encode(driver, launch.tensor_maps[i], address_of(launch.tensor_maps[i].operand), maps[i]));
    std::vector<void*> parameters;
    for (Address& value : values) parameters.push_back(&value);
    for (EncodedTensorMap& map : maps) parameters.push_back(&map);
    Address failure = failure_;
    if (launch.reports) parameters.push_back(&failure);
    const auto extent = [](std::uint64_t value) { return static_cast<unsigned>(value); };
    return driver.check(driver.launch(function, extent(launch.grid[0]), extent(launch.grid[1]), extent(launch.grid[2]),
                                      extent(launch.block[0]), extent(launch.block[1]), extent(launch.block[2]),
                                      extent(launch.shared_bytes), context_->stream(), parameters.data(), nullptr),
                        fmt::format("launching {}", launch.symbol));
  }

  std::shared_ptr<Context> context_;
  bundle::CudaCode code_;
  Address failure_;
  const bundle::CudaKernels* kernels_ =
      nullptr;                             // the part of the code that the device runs; null: it launches nothing
  std::vector<FunctionHandle> functions_;  // of the launches
};

}  // namespace

Result<std::unique_ptr<StreamWork>> make_launches(std::shared_ptr<Context> context, bundle::CudaCode code,
                                                  Address failure) {
  auto launches = std::make_unique<Launches>(std::move(context), std::move(code), failure);
  DOVETAIL_TRY(launches->load());
  return std::unique_ptr<StreamWork>(std::move(launches));
}

}  // namespace dovetail::runtime::cuda
