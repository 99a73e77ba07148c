// A bundle under construction: what code generators append their steps to. It knows in which layouts each value exists already, and makes the others by
// packing constants or by relayout steps on the host.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "compiler/target/cpu/library.h"
#include "loops/ir.h"

namespace dovetail {

// A kernel's worth of nodes: for the report.
struct GroupReport {
  std::string name, kind;
  std::vector<std::string> nodes;
  std::string trace;
  std::vector<std::string> notes;
  std::vector<std::string> unfused;  // why results leave the kernel (FusedGroup::unfused)
};
struct Assembled {
  bundle::Bundle bundle;
  std::vector<GroupReport> groups;
  std::vector<cpu::KernelReport> kernels;
};

// Layouts are index maps (compiler/schedule/index_map.h); empty: as the model has it.
class BundleBuilder {
 public:
  // `processor`: for which host programs become machine code; without one they are interpreted. `free_borders`: inputs and outputs of the bundle lie as
  // their readers and writers like them best.
  BundleBuilder(const graph::Graph& graph, const std::optional<cpu::Cpu>& processor, bool free_borders);

  const graph::Graph& graph() const { return graph_; }
  const std::map<graph::ValueId, std::string>& layouts() const { return layouts_; }  // in which each value was computed
  const std::set<graph::ValueId>& free() const { return free_; }                     // inputs of the model that nothing has read yet

  // ---- Tensors
  // The value in that layout, made where it does not exist yet. Precondition: a step computes it already, or it is an input or a constant.
  bundle::TensorIndex in_layout(graph::ValueId value, const std::string& layout);
  // A tensor for a value that a step is about to compute in that layout.
  bundle::TensorIndex result(graph::ValueId value, const std::string& layout);
  // A tensor that is no value of the graph.
  bundle::TensorIndex add_tensor(std::string name, DType dtype, Shape shape, std::optional<NdArray> constant = std::nullopt);
  bundle::TensorIndex add_constant(std::string name, const NdArray& value, const std::string& layout);

  // ---- Steps
  void add_step(bundle::Step step) { bundle_.steps.push_back(std::move(step)); }
  // A loop program on the host: a kernel where there is a processor whose back end can make one, else interpreted. `operation_source`: the program whose
  // arithmetic is counted, where `program` is a scheduled form of it.
  void add_program(const std::string& name, std::vector<std::string> origins, loops::Program program, std::vector<bundle::TensorIndex> arguments,
                   std::vector<bundle::TensorIndex> results, const loops::Program* operation_source = nullptr);
  void add_group(GroupReport report) { groups_.push_back(std::move(report)); }
  // Imported nodes that these stand for.
  std::vector<std::string> origins(const std::vector<graph::NodeId>& nodes) const;

  Result<Assembled> finish();

 private:
  bundle::TensorIndex tensor(graph::ValueId value);

  const graph::Graph& graph_;
  bool free_borders_;
  std::optional<cpu::KernelLibrary> library_;
  bundle::Bundle bundle_;
  std::map<std::pair<graph::ValueId, std::string>, bundle::TensorIndex> tensors_;
  std::map<graph::ValueId, std::string> layouts_;
  std::set<graph::ValueId> free_;
  std::vector<GroupReport> groups_;
};

}  // namespace dovetail
