#include "driver/kernels/compare.h"

#include <utility>

#include "bundle/code/host.h"

namespace dovetail::driver {

Result<std::vector<ComparedKernel>> compare_kernels(const std::vector<TargetKernel>& kernels, const Tensors& inputs,
                                                    const LoopProfileOptions& options) {
  std::vector<ComparedKernel> rows;
  if (kernels.empty()) return rows;
  const LoopProgram written = kernels.front().program.unscheduled();
  DOVETAIL_ASSIGN(auto values, written.run(inputs, options.runner.work));
  const Tensors expected(values.begin(), values.end());
  const auto stopped = [&] { return options.runner.work != nullptr && options.runner.work->stopped(); };
  for (const TargetKernel& kernel : kernels) {
    ComparedKernel row{kernel.target, static_cast<std::int64_t>(kernel.program.schedule().trace().size())};
    const auto fail = [&](const Diagnostics& errors) {
      row.unavailable = errors.front().what + ": " + errors.front().why;
      row.hint = errors.front().hint;
    };
    auto runner = LoopRunner::make(kernel.program, kernel.target, options.runner);
    if (!runner.ok()) {
      fail(runner.errors());
      rows.push_back(std::move(row));
      continue;
    }
    auto ran = runner->run(inputs);
    if (!ran.ok() && stopped()) return ran.errors();
    if (!ran.ok()) {
      fail(ran.errors());
      rows.push_back(std::move(row));
      continue;
    }
    row.wrong = find_wrong_value(expected, ran->outputs);
    LoopProfileOptions timing = options;
    if (kernel.target == kInterpreterTarget || kernel.target == bundle::kHostTarget)
      timing.repeat = 1;  // too slow to repeat
    auto profile = profile_loops(kernel.program, kernel.target, inputs, timing);
    if (!profile.ok()) return profile.errors();
    row.profile = *std::move(profile);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dovetail::driver
