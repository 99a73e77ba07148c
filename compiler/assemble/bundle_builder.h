// A bundle under construction, to which code generators append their steps. It tracks the layouts in which each value
// exists, and creates others by packing constants or by relayout steps on the host.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/assemble/plan_memory.h"
#include "compiler/assemble/program_compiler.h"
#include "compiler/graph/graph.h"
#include "compiler/layout/offer.h"
#include "compiler/schedule/recorded.h"
#include "loops/ir.h"

namespace dovetail {

// The nodes of one kernel, for the report.
struct GroupReport {
  std::string name, kind;
  std::vector<std::string> nodes;
  std::string trace;
  std::vector<std::string> notes;
  std::vector<std::string> unfused;  // why results leave the kernel (FusedGroup::unfused)
};
// The schedule of a task, if records were searched.
struct ScheduleReport {
  std::string name;  // name of the kernel
  std::string target;
  std::string kind;
  schedule::Origin origin;
};
// A target's report on the code generated for a region.
struct CodeReport {
  std::string region, target;
  std::string text;  // a line for a terminal
  Json facts;
};
// A node that a target accepted, but that does not fit its memory, as found when generating the region's code.
struct GivenUp {
  graph::NodeId node;
  std::string target, why;
};
struct Assembled {
  bundle::Bundle bundle;
  std::vector<GroupReport> groups;
  std::vector<ScheduleReport> schedules;
  std::vector<CodeReport> codes;
  std::vector<KernelReport> kernels;
  MemoryPlan memory;
};

// A memory shared by all steps of one device, and how much of it is allocated. Addresses are the device's.
struct DeviceSpace {
  bundle::SpaceIndex index = 0;
  std::uint64_t base = 0;
  std::uint64_t granule = bundle::kTensorAlignment;  // allocations begin at multiples of it
  std::uint64_t next = base;
  std::uint64_t kept_free = 0;  // bytes from `next` on that the device needs at run time
  std::map<std::pair<graph::ValueId, std::string>, std::uint64_t> tensors = {};  // address of a value in a layout

  std::uint64_t allocate(std::uint64_t bytes);
};

// Layouts: compiler/layout/layout.h.
class BundleBuilder {
 public:
  // `compilers`: for programs on the host; each program becomes a step of the first compiler that supports it. Graph
  // and layouts must outlive the builder. `machine_code`: CompileOptions::machine_code.
  BundleBuilder(const graph::Graph& graph, const ChosenLayouts& layouts,
                std::vector<std::unique_ptr<ProgramCompiler>> compilers, ReportProgress progress = nullptr,
                bool machine_code = true);

  const graph::Graph& graph() const { return graph_; }
  const ReportProgress& progress() const { return progress_; }  // null: no progress reports
  bool makes_machine_code() const { return machine_code_; }

  // ---- Tensors
  // The value in that layout. If it does not exist yet: packed for a constant, a view if the bytes are the same, else
  // copied by a step. Precondition: a step already computes the value, or it is an input or a constant.
  bundle::TensorIndex in_layout(graph::ValueId value, const std::string& layout);
  // A tensor for a value that the next step computes in that layout.
  bundle::TensorIndex result(graph::ValueId value, const std::string& layout);
  // The value has `root`'s bytes in another shape: no step computes it. Both have the model's layout.
  void add_view(graph::ValueId value, graph::ValueId root);
  // A tensor that is not a value of the graph.
  bundle::TensorIndex add_tensor(std::string name, DType dtype, Shape shape,
                                 std::optional<NdArray> constant = std::nullopt);
  bundle::TensorIndex add_constant(std::string name, const NdArray& value, const std::string& layout);

  // ---- Memories of devices
  // The target's memory of that name, created if it does not exist yet. `base` and `granule` are multiples of
  // bundle::kTensorAlignment.
  DeviceSpace& space(std::string_view target, const std::string& name, std::uint64_t base, std::uint64_t granule);
  // Stores the tensor in that memory if a step computes it and it is not already in another device's memory; otherwise
  // its readers and writers there must copy. Without an address, `plan_memory` chooses one.
  void place(bundle::TensorIndex tensor, const DeviceSpace& space, std::optional<std::uint64_t> address);

  // The next step computes `value` over `argument`, if both are in one place of a device's memory.
  void overwrite(graph::ValueId value, const std::string& layout, graph::ValueId argument,
                 const std::string& argument_layout);

  // ---- Steps
  void add_step(bundle::Step step) { bundle_.steps.push_back(std::move(step)); }
  // A loop program on the host, as a step of a target that runs such programs. Precondition: a target accepts it.
  void add_program(HostProgram program);
  void add_group(GroupReport report) { groups_.push_back(std::move(report)); }
  void add_schedule(ScheduleReport report) { schedules_.push_back(std::move(report)); }
  void add_code(CodeReport report) { codes_.push_back(std::move(report)); }
  // A target whose memory is too small reports the nodes that do not fit, then fails in generate(). The compiler
  // partitions the graph again; these nodes go to the next target.
  void give_up(GivenUp node) { given_up_.push_back(std::move(node)); }
  const std::vector<GivenUp>& given_up() const { return given_up_; }
  // The imported nodes that these nodes represent.
  std::vector<std::string> origins(const std::vector<graph::NodeId>& nodes) const;

  Result<Assembled> finish();

 private:
  bundle::TensorIndex add_value(graph::ValueId value, const std::string& layout);
  bool is_input(graph::ValueId value) const;
  std::vector<bundle::Resident> residents() const;

  const graph::Graph& graph_;
  const ChosenLayouts& chosen_;
  std::vector<std::unique_ptr<ProgramCompiler>> compilers_;
  ReportProgress progress_;
  bool machine_code_;
  std::set<graph::ValueId> inputs_;
  bundle::Bundle bundle_;
  std::map<std::pair<graph::ValueId, std::string>, bundle::TensorIndex> tensors_;
  std::map<graph::ValueId, std::string> layouts_;  // the layout in which each value was computed
  std::deque<DeviceSpace> spaces_;                 // memories of devices; a deque keeps references valid
  std::vector<GroupReport> groups_;
  std::vector<ScheduleReport> schedules_;
  std::vector<CodeReport> codes_;
  std::vector<GivenUp> given_up_;
  struct Overwritten {
    graph::ValueId value, argument;
    bundle::TensorIndex after, before;
  };
  std::vector<Overwritten> overwritten_;
};

}  // namespace dovetail
