// A partitioned graph to a bundle: tensors, host steps, accelerator steps and the relayouts between them.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "compiler/partition.h"

namespace dovetail {

enum class Expose {
  needed,  // of a region's results, those read outside of it
  all,     // all of them: for comparing a run with the reference
};

Result<bundle::Bundle> assemble(const graph::Graph& graph, const Partition& parts, const isa::HardwareConfig& hardware,
                                const std::function<void(std::string_view stage, std::string_view text)>& dump,
                                Expose expose = Expose::needed);

}  // namespace dovetail
