// Graphs as machine code for this processor, for calibration.
#pragma once

#include <memory>

#include "compiler/pipeline.h"
#include "compiler/quantize/quantize.h"
#include "runtime/executor.h"
#include "tests/targets.h"

namespace dovetail::test {

inline quantize::MakeForward compiled_forward() {
  return [](const graph::Graph& graph) -> Result<quantize::Forward> {
    CompileOptions options;
    options.available = kit_targets();
    options.targets = {"cpu"};
    DOVETAIL_ASSIGN(Compiled compiled, compile({graph, {}}, options));
    DOVETAIL_ASSIGN(
        runtime::Executor executor,
        runtime::Executor::make(std::move(compiled.bundle), runtime::simulator_factory("functional").value()));
    const auto shared = std::make_shared<runtime::Executor>(std::move(executor));
    return quantize::Forward{[shared](const quantize::Values& inputs) -> Result<void> {
                               DOVETAIL_TRY(shared->run(inputs, {.time_steps = false, .copy_outputs = false}));
                               return {};
                             },
                             [shared](const std::string& name) { return shared->copied_output(name); },
                             quantize::output_names(graph)};
  };
}

}  // namespace dovetail::test
