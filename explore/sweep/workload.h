// The models that a sweep is about: imported and optimized once, then compiled for each hardware and timed exactly.
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
#include "isa/config.h"
#include "runtime/executor.h"
#include "simulator/counters.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

struct ModelFile {
  std::string path;
  double weight = 1;                                   // of its latency and energy in those of a point
  std::optional<std::vector<std::byte>> content = {};  // taken for the file's
};

// What one inference of a model takes on a machine.
struct ModelTime {
  std::uint64_t cycles = 0;        // of all launches
  simulator::Counters counters{};  // of all launches
};
// The time of a layer, in cycles of the compute unit.
struct LayerTime {
  std::string name;
  std::uint64_t cycles = 0, bound = 0, useful_macs = 0;
  std::string bound_by;  // "compute", "DRAM read", "DRAM write"
  // Counters of the layer's instructions and their fetch, without DRAM commands and the ALU's reads of a second
  // operand.
  simulator::Counters counters = {};
  double energy_mj = 0;  // Evaluator::layers()
};

// The models' programs for one hardware.
struct Programs {
  struct Step {
    std::string name;
    bundle::AccelCode code;
  };
  struct Model {
    bundle::Bundle bundle;
    std::vector<Step> steps;                 // of the bundle on the accelerator, decoded
    std::uint64_t macs = 0, accel_macs = 0;  // of the graph, and those of them that the accelerator does
    std::string left_out;                    // the first node with multiplications that it does not take, and why
  };
  isa::HardwareConfig hardware;
  std::vector<Model> models;  // in the workload's order
};

class Workload {
 public:
  // Imports and optimizes. Errors: of each model, what import or passes say of it.
  static Result<Workload> make(std::span<const ModelFile> files);

  struct Model {
    std::string name;  // the file's, without folders and extension
    std::string path;
    double weight = 1;
    graph::Graph graph;  // after all passes of the graph
  };
  std::span<const Model> models() const { return models_; }
  // Sixteen hexadecimal digits of the files' bytes and weights.
  const std::string& key() const { return key_; }

  // Where compilations keep what those for other hardware find there: its own memo, unless it is given another
  // one. The programs are the same.
  void keep_in(std::shared_ptr<Memo> memo) { memo_ = std::move(memo); }
  Memo& memo() const { return *memo_; }

  // The rest of what follows may be called from several threads at once.

  // Errors: what no target takes for this hardware.
  Result<Programs> compile(const isa::HardwareConfig& hardware) const;
  // Exact; the values are not computed. Of so many accelerators that share the memory, each with its own sample:
  // the cycles are those of the batch, the counters those of one of them, commands of the DRAM those of all.
  Result<std::vector<ModelTime>> time(const Programs& programs, const simulator::MemorySpec& memory,
                                      std::int64_t accelerators = 1, Work* work = nullptr) const;
  // The same program by the engine that `make` makes, on seeded inputs: its cycles, 0 where it has no clock, once the
  // outputs are those of the CPU. Error: they differ.
  Result<std::vector<ModelTime>> run(const Programs& programs, const runtime::MakeSimulator& make) const;
  // In the order of the program, without their energy. Of several accelerators the one that ends last.
  Result<std::vector<LayerTime>> layers(const Programs& programs, std::size_t model,
                                        const simulator::MemorySpec& memory, std::int64_t accelerators = 1) const;

 private:
  // Seeded inputs of a model, and what the CPU makes of them: computed when they are asked for first.
  struct Expected;
  Result<const Expected*> expected(std::size_t model) const;

  std::vector<Model> models_;
  std::string key_;
  std::shared_ptr<Memo> memo_ = std::make_shared<Memo>();
  std::shared_ptr<std::vector<std::unique_ptr<Expected>>> expected_;
};

}  // namespace dovetail::explore
