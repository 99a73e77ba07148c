#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "runtime/step.h"

namespace dovetail::runtime {

namespace {

class HostStep : public ReadyStep {
 public:
  HostStep(const bundle::HostStep& step, std::shared_ptr<const loops::CompiledProgram> program)
      : step_(step), program_(std::move(program)) {}

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "host"; }

  Result<simulator::Counters> run(TensorMemory& memory) override {
    std::vector<std::span<const std::byte>> arguments;
    std::vector<std::span<std::byte>> results;
    for (const bundle::TensorIndex argument : step_.arguments) arguments.push_back(memory.read(argument));
    for (const bundle::TensorIndex result : step_.results) results.push_back(memory.write(result));
    if (const auto ran = loops::run(*program_, arguments, results); !ran.ok()) {
      Diagnostics problems = ran.errors();
      for (Diagnostic& problem : problems)
        problem.where = problem.where.empty() ? fmt::format("step {}", step_.name)
                                              : fmt::format("step {}, {}", step_.name, problem.where);
      return problems;
    }
    return simulator::Counters{};
  }

 private:
  const bundle::HostStep& step_;
  std::shared_ptr<const loops::CompiledProgram> program_;
};

}  // namespace

Result<std::unique_ptr<ReadyStep>> make_host_step(const bundle::HostStep& step) {
  DOVETAIL_ASSIGN(auto program, loops::compile(step.program));
  return std::unique_ptr<ReadyStep>(std::make_unique<HostStep>(step, std::move(program)));
}

}  // namespace dovetail::runtime
