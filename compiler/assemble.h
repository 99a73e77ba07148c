// A partitioned graph to a bundle: tensors, host steps, accelerator steps and the relayouts between them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "compiler/partition.h"
#include "compiler/target/cpu/library.h"

namespace dovetail {

enum class Expose {
  needed,  // of a region's results, those read outside of it
  all,     // all of them: for comparing a run with the reference
};

struct AssembleOptions {
  isa::HardwareConfig hardware;
  std::optional<cpu::Cpu> cpu;  // empty: host steps are interpreted
  bool fuse = true;             // host nodes to kernels
  Expose expose = Expose::needed;
  bool free_borders = false;    // inputs and outputs of the bundle lie as the kernels like them best
};

// A kernel's worth of host nodes: for the report.
struct GroupReport {
  std::string name, kind;
  std::vector<std::string> nodes;
  std::string trace;
  std::vector<std::string> notes;
};
struct Assembled {
  bundle::Bundle bundle;
  std::vector<GroupReport> groups;
  std::vector<cpu::KernelReport> kernels;
};

Result<Assembled> assemble(const graph::Graph& graph, const Partition& parts, const AssembleOptions& options,
                           const std::function<void(std::string_view stage, std::string_view text)>& dump);

}  // namespace dovetail
