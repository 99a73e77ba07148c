#include "loops/threads/run_threads.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/threads/runner.h"

namespace dovetail::loops {

using namespace adversarial;

Result<std::vector<NdArray>> run_threads(const ThreadProgram& program, std::span<const Parameter> parameters,
                                         std::span<const NdArray> arguments, std::uint64_t seed) {
  std::map<const BufferNode*, Memory> memories;
  std::size_t next = 0;
  for (const Parameter& parameter : parameters) {
    const Buffer& buffer = parameter.buffer;
    if (parameter.role == ParameterRole::output) {
      memories.emplace(buffer.get(), Memory(buffer));
      continue;
    }
    DOVETAIL_CHECK(next < arguments.size() && arguments[next].dtype() == buffer->dtype &&
                       arguments[next].count() == element_count(buffer->shape),
                   "there must be one argument for every input");
    memories.emplace(buffer.get(), Memory(buffer, arguments[next++].bytes()));
  }
  for (const Buffer& buffer : program.workspace) memories.emplace(buffer.get(), Memory(buffer));

  SplitMix64 seeds(seed);
  for (const ThreadKernel& kernel : program.kernels) {
    std::map<const BufferNode*, Memory*> places;
    for (auto& [buffer, memory] : memories) {
      memory.forget_accesses();
      places[buffer] = &memory;
    }
    try {
      Runner(kernel, program.operations.get(), std::move(places), seeds.next()).run();
    } catch (const Broken& broken) {
      return Diagnostic{"the kernel breaks a rule", fmt::format("kernel {}, seed {}", kernel.name, seed), broken.why,
                        ""};
    }
  }
  std::vector<NdArray> outputs;
  for (const Parameter& parameter : parameters) {
    if (parameter.role != ParameterRole::output) continue;
    const Memory& memory = memories.at(parameter.buffer.get());
    for (std::size_t i = 0; i < memory.shadow.size(); ++i)
      if (!memory.shadow[i].defined)
        return Diagnostic{"the kernels break a rule", fmt::format("output {}", parameter.buffer->name),
                          fmt::format("element {} was never written", i), ""};
    outputs.emplace_back(parameter.buffer->dtype, parameter.buffer->shape, memory.bytes);
  }
  return outputs;
}

}  // namespace dovetail::loops
