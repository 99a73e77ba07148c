// Regions of the graph, run on oneDNN.
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/code/library.h"
#include "runtime/device/all.h"
#include "runtime/device/onednn/chain.h"
#include "runtime/device/onednn/library.h"

namespace dovetail::runtime {

namespace {

class OnednnKernel : public DeviceKernel {
 public:
  OnednnKernel(onednn::Chain chain, std::uint64_t operations, int threads, Work* work)
      : chain_(std::move(chain)), operations_(operations), threads_(threads), work_(work) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    tensors_.clear();
    for (const auto& operands : {arguments, results})
      for (const Operand& operand : operands) tensors_.push_back(operand.bytes.data());
    chain_.library->set_threads(threads_);
    DOVETAIL_TRY(chain_.run(tensors_));
    if (work_ != nullptr) work_->count(operations_);
    return {};
  }
  WorkEstimate estimate_work() const override {
    return {operations_, static_cast<double>(operations_) / kOperationsPerSecond};
  }

 private:
  static constexpr double kOperationsPerSecond = 10e9;  // of a slow operation

  onednn::Chain chain_;
  std::uint64_t operations_;
  int threads_;
  Work* work_;
  std::vector<std::byte*> tensors_;
};

class OnednnDevice : public Device {
 public:
  OnednnDevice(int threads, Work* work) : threads_(threads), work_(work) {}

  std::string_view name() const override { return bundle::kOnednnTarget; }
  // Steps only name operations; the machine code is the library's.
  bool runs_machine_code() const override { return false; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::library_steps(bundle, bundle::kOnednnTarget));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(const auto steps, bundle::library_steps(bundle, bundle::kOnednnTarget));
    DeviceProgram program;
    if (steps.empty()) return program;
    DOVETAIL_ASSIGN(const std::shared_ptr<const onednn::Library> library, onednn::Library::find());
    library->set_threads(threads_);
    for (const auto& step : steps) {
      DOVETAIL_ASSIGN(onednn::Chain chain, onednn::make_chain(library, bundle, step));
      program.kernels.push_back(
          std::make_unique<OnednnKernel>(std::move(chain), step.code.arithmetic, threads_, work_));
    }
    return program;
  }

 private:
  int threads_;
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_onednn_device(int threads, Work* work) {
  return std::make_shared<OnednnDevice>(threads, work);
}

}  // namespace dovetail::runtime
