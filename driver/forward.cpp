#include "driver/forward.h"

#include <memory>

#include "compiler/pipeline.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "runtime/executor.h"

namespace dovetail::driver {

quantize::MakeForward compiled_forward() {
  return [](const graph::Graph& graph) -> Result<quantize::Forward> {
    CompileOptions options;
    options.available = {cpu::make_native_target(), host::make_target()};
    options.targets = {"cpu"};
    if (const auto processor = cpu::find_cpu("native"); processor.ok())
      options.context.evaluate = cpu::jit_evaluate(*processor);
    DOVETAIL_ASSIGN(Compiled compiled, compile({graph, {}}, options));
    DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
    DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), simulators));
    const auto shared = std::make_shared<runtime::Executor>(std::move(executor));
    return quantize::Forward{[shared](const quantize::Values& inputs) -> Result<void> {
                               DOVETAIL_TRY(shared->run(inputs, {.time_steps = false, .copy_outputs = false}));
                               return {};
                             },
                             [shared](const std::string& name) { return shared->copied_output(name); },
                             quantize::output_names(graph)};
  };
}

}  // namespace dovetail::driver
