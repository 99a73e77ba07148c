#include <utility>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "runtime/step.h"

namespace dovetail::runtime {

namespace {

class HostStep : public ReadyStep {
 public:
  HostStep(const bundle::Bundle& bundle, const bundle::HostStep& step,
           std::shared_ptr<const loops::CompiledProgram> program)
      : bundle_(bundle), step_(step), program_(std::move(program)) {
    // Constants are put in place once; a run replaces the others.
    for (const bundle::TensorIndex index : step_.arguments) {
      const auto& constant = bundle_.tensors[static_cast<std::size_t>(index)].constant;
      arguments_.push_back(constant ? *constant : NdArray());
    }
  }

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "host"; }
  const std::vector<bundle::TensorIndex>& outputs() const override { return step_.results; }

  Result<simulator::Counters> run(const TensorValue& value, const TensorSlot& slot) override {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (!bundle_.tensors[static_cast<std::size_t>(step_.arguments[i])].constant)
        arguments_[i] = value(step_.arguments[i]);
    auto values = loops::run(*program_, arguments_);
    if (!values.ok()) {
      Diagnostics problems = values.errors();
      for (Diagnostic& problem : problems)
        problem.where = problem.where.empty() ? fmt::format("step {}", step_.name)
                                              : fmt::format("step {}, {}", step_.name, problem.where);
      return problems;
    }
    for (std::size_t i = 0; i < values->size(); ++i) slot(step_.results[i]) = std::move((*values)[i]);
    return simulator::Counters{};
  }

 private:
  const bundle::Bundle& bundle_;
  const bundle::HostStep& step_;
  std::shared_ptr<const loops::CompiledProgram> program_;
  std::vector<NdArray> arguments_;
};

}  // namespace

Result<std::unique_ptr<ReadyStep>> make_host_step(const bundle::Bundle& bundle, const bundle::HostStep& step) {
  DOVETAIL_ASSIGN(auto program, loops::compile(step.program));
  return std::unique_ptr<ReadyStep>(std::make_unique<HostStep>(bundle, step, std::move(program)));
}

}  // namespace dovetail::runtime
