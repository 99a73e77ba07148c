// The models of a sweep: imported and optimized once, then compiled for each hardware and timed exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memo.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"
#include "compiler/graph/graph.h"
#include "compiler/import/onnx.h"
#include "compiler/target/accel/division.h"
#include "isa/config.h"
#include "runtime/executor.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/profile.h"

namespace dovetail::explore {

struct ModelFile {
  std::string path;
  double weight = 1;                                   // weight of its latency and energy in those of a point
  std::optional<std::vector<std::byte>> content = {};  // used instead of the file's content
  std::string name = {};                               // for tables; empty: that of the file
};
Result<import::Imported> import_model(const ModelFile& file);

// The time and events of one inference of a model on a machine.
struct ModelTime {
  std::uint64_t cycles = 0;        // of all launches
  simulator::Counters counters{};  // of all launches
};
// How the outputs of a model's programs compare with those of the reference.
struct ModelCheck {
  ModelTime time;       // 0 cycles for an engine without a clock
  std::string outcome;  // "equal", or "equal, with N values one step off after a rounded float"
};
// The time of a layer, in cycles of the compute unit.
struct LayerTime {
  std::string name;
  std::uint64_t cycles = 0, bound = 0, useful_macs = 0, bytes_read = 0, bytes_written = 0;
  std::string bound_by = {};  // "compute", "DRAM read", "DRAM write"
  // Counters of the layer's instructions and their fetch, without DRAM commands and the ALU's reads of a second
  // operand.
  simulator::Counters counters = {};
  simulator::CyclesByCause by_cause{};
  double energy_mj = 0;  // Evaluator::layers()
};
Json to_json(const LayerTime& layer);

// The models' programs for one hardware.
struct Programs {
  struct Step {
    std::string name;
    bundle::AccelCode code;
  };
  struct Model {
    bundle::Bundle bundle;
    std::vector<Step> steps;                 // the bundle's steps on the accelerator, decoded
    std::uint64_t macs = 0, accel_macs = 0;  // MACs of the graph, and MACs on the accelerator
    // The nodes with multiplications that are not on the accelerator, and why; those with most multiplications first.
    struct LeftOut {
      std::string node;
      std::uint64_t macs = 0;
      std::string why;
    };
    std::vector<LeftOut> left_out;
  };
  isa::HardwareConfig hardware;
  std::vector<Model> models;  // in the workload's order
  // Accelerators between which the programs are divided; 1: each accelerator of a system runs them on its own sample.
  std::int64_t divided = 1;
};

class Workload {
 public:
  // Imports and optimizes the models. Errors: those of import and passes for each model.
  static Result<Workload> make(std::span<const ModelFile> files);

  struct Model {
    std::string name;  // ModelFile::name, or that of the file without folders and extension
    std::string path;
    double weight = 1;
    graph::Graph graph;  // after all passes of the graph
  };
  std::span<const Model> models() const { return models_; }
  // Sixteen hexadecimal digits: a hash of the files' bytes and weights.
  const std::string& key() const { return key_; }

  // Sets the cache through which compilations for different hardware share results; by default each workload has its
  // own. The programs do not depend on it.
  void keep_in(std::shared_ptr<Memo> memo) { memo_ = std::move(memo); }
  Memo& memo() const { return *memo_; }

  // The functions below may be called from several threads at once.

  // Errors: nodes that no target supports with this hardware.
  Result<Programs> compile(const isa::HardwareConfig& hardware, const accel::Division& division = {}) const;
  // Exact times; values are not computed. With several accelerators that share the memory, each with its own sample,
  // the cycles are for the batch, the counters for one accelerator, DRAM commands for all. With divided programs all
  // are for one sample.
  Result<std::vector<ModelTime>> time(const Programs& programs, const simulator::MemorySpec& memory,
                                      std::int64_t accelerators = 1, Work* work = nullptr) const;
  // Runs the programs with values on the engine of `make`, on seeded inputs, and compares the outputs with those of the
  // CPU. Where they differ, all tensors are compared by the rule of `dovetail run --check` (check_against_reference()).
  // Error: they differ by that rule.
  Result<std::vector<ModelCheck>> run(const Programs& programs, const runtime::MakeSimulator& make) const;
  // The layers in the order of the program, without their energy, and last, without a name, the cycles after the last
  // instruction. With several accelerators, those of the last one to
  // end.
  Result<std::vector<LayerTime>> layers(const Programs& programs, std::size_t model,
                                        const simulator::MemorySpec& memory, std::int64_t accelerators = 1) const;

 private:
  // Seeded inputs of a model, and the CPU's outputs for them, computed at the first use.
  struct Expected;
  Result<const Expected*> expected(std::size_t model) const;

  std::vector<Model> models_;
  std::string key_;
  std::shared_ptr<Memo> memo_ = std::make_shared<Memo>();
  std::shared_ptr<std::vector<std::unique_ptr<Expected>>> expected_;
};

}  // namespace dovetail::explore
