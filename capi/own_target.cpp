#include "capi/own_target.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/target_facts.h"
#include "capi/arguments.h"
#include "capi/bundle.h"
#include "capi/tensor.h"

namespace dovetail::capi {

namespace {

class OwnKernel : public runtime::DeviceKernel {
 public:
  OwnKernel(std::shared_ptr<OwnTarget> target, void* kernel, const bundle::Bundle& bundle, const bundle::Step& step)
      : target_(std::move(target)),
        kernel_(kernel),
        arguments_(views_of(bundle, step.arguments)),
        results_(views_of(bundle, step.results)) {}
  ~OwnKernel() override {
    const std::scoped_lock lock(target_->mutex);
    if (target_->table.unload != nullptr) target_->table.unload(target_->table.user, kernel_);
  }
  OwnKernel(const OwnKernel&) = delete;
  OwnKernel& operator=(const OwnKernel&) = delete;

  Result<void> run(std::span<const runtime::Operand> arguments, std::span<const runtime::Operand> results) override {
    for (std::size_t i = 0; i < arguments.size(); ++i) arguments_[i].data = arguments[i].bytes.data();
    for (std::size_t i = 0; i < results.size(); ++i) results_[i].data = results[i].bytes.data();
    const std::scoped_lock lock(target_->mutex);
    const char* why = target_->table.run(target_->table.user, kernel_, arguments_.data(), arguments_.size(),
                                         results_.data(), results_.size());
    if (why == nullptr) return {};
    return Diagnostic{"cannot run a step", fmt::format("target {}", target_->name), why,
                      "the reason is from the program's own target", Cause::work};
  }

 private:
  // The shapes are the bundle's, which outlives the kernel.
  static std::vector<DLTensor> views_of(const bundle::Bundle& bundle, const std::vector<bundle::TensorIndex>& indices) {
    std::vector<DLTensor> views;
    for (const bundle::TensorIndex index : indices) {
      const bundle::Tensor& tensor = tensor_at(bundle, index);
      views.push_back({.data = nullptr,
                       .device = {kDLCPU, 0},
                       .ndim = static_cast<std::int32_t>(tensor.shape.size()),
                       .dtype = dl_dtype(tensor.dtype),
                       .shape = const_cast<std::int64_t*>(tensor.shape.data()),
                       .strides = nullptr,
                       .byte_offset = 0});
    }
    return views;
  }

  std::shared_ptr<OwnTarget> target_;
  void* kernel_;
  std::vector<DLTensor> arguments_, results_;
};

class OwnDevice : public runtime::Device {
 public:
  explicit OwnDevice(std::shared_ptr<OwnTarget> target) : target_(std::move(target)) {}
  std::string_view name() const override { return target_->name; }

  Result<runtime::DeviceProgram> load(const bundle::Bundle& bundle) override {
    runtime::DeviceProgram program;
    for (const bundle::Step& step : bundle.steps) {
      if (step.target != target_->name) continue;
      const char* why = nullptr;
      void* kernel = nullptr;
      {
        const std::scoped_lock lock(target_->mutex);
        kernel = target_->table.load(target_->table.user, step.code.data(), step.code.size(), &why);
      }
      if (kernel == nullptr)
        return Diagnostic{"cannot load code", fmt::format("step {}, target {}", step.name, target_->name),
                          text_or(why, "the target gave no reason"), "compile the model again"};
      program.kernels.push_back(std::make_unique<OwnKernel>(target_, kernel, bundle, step));
    }
    return program;
  }

 private:
  std::shared_ptr<OwnTarget> target_;
};

}  // namespace

Result<OwnTargets> own_targets_of(const dvt_target* const* given, std::size_t count, std::string_view argument) {
  OwnTargets targets;
  if (count > 0) DOVETAIL_TRY(require(given, argument));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string place = fmt::format("{}[{}]", argument, i);
    DOVETAIL_TRY(require(given[i], place));
    auto target = std::make_shared<OwnTarget>();
    DOVETAIL_ASSIGN(target->table, options_of(given[i], place));
    DOVETAIL_TRY(require(target->table.name, place + ", name"));
    target->name = target->table.name;
    if (target->name.empty() || target->name.find_first_of(", =") != std::string::npos)
      return bad_argument(place + ", name", fmt::format("\"{}\" is not a name", target->name),
                          "use letters, digits and -");
    const auto same = [&](const auto& other) { return other->name == target->name; };
    if (std::ranges::any_of(targets, same) || bundle::find_target_facts(target->name) != nullptr)
      return bad_argument(place + ", name", fmt::format("there is another target {}", target->name),
                          "choose another name");
    if (target->table.pattern_count > 0) DOVETAIL_TRY(require(target->table.patterns, place + ", patterns"));
    for (std::size_t p = 0; p < target->table.pattern_count; ++p) {
      DOVETAIL_TRY(require(target->table.patterns[p], fmt::format("{}, patterns[{}]", place, p)));
      target->patterns.emplace_back(target->table.patterns[p]);
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<std::shared_ptr<runtime::Device>> make_device(const std::shared_ptr<OwnTarget>& target) {
  DOVETAIL_TRY(
      require(reinterpret_cast<const void*>(target->table.load), fmt::format("target {}: load", target->name)));
  DOVETAIL_TRY(require(reinterpret_cast<const void*>(target->table.run), fmt::format("target {}: run", target->name)));
  return std::shared_ptr<runtime::Device>(std::make_shared<OwnDevice>(target));
}

}  // namespace dovetail::capi
