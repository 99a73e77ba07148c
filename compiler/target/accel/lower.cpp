#include "compiler/target/accel/lower.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/leaf.h"
#include "compiler/target/accel/on_chip.h"

namespace dovetail::accel {

using namespace loops;

namespace {

class Lowering {
 public:
  Lowering(const Program& program, const IntrinsicTable& intrinsics, const isa::HardwareConfig& config,
           const std::map<std::string, std::uint64_t>& dram, int node, Stream& stream)
      : program_(program),
        intrinsics_(intrinsics),
        config_(config),
        limits_(config),
        dram_(dram),
        node_(node),
        stream_(stream) {}

  Result<void> run() {
    DOVETAIL_TRY(check_loops(program_, kLoopSupport));
    DOVETAIL_ASSIGN(placements_, place_buffers(program_, intrinsics_, config_));
    walk(program_.body, {});
    return {};
  }

 private:
  void walk(const Stmt& stmt, const std::vector<const For*>& outside) {
    if (schedule::only_block(stmt)) {
      auto leaf = leaves_.find(stmt.get());
      if (leaf == leaves_.end()) leaf = leaves_.emplace(stmt.get(), make_leaf(stmt, outside, context())).first;
      emit_leaf(leaf->second, values_, context(), node_, stream_);
      return;
    }
    if (const For* loop = schedule::as_for(stmt)) {
      std::vector<const For*> inner = outside;
      inner.push_back(loop);
      for (std::int64_t value = 0; value < loop->extent; ++value) {
        values_[loop->var.get()] = value;
        walk(loop->body, inner);
      }
      values_.erase(loop->var.get());
      return;
    }
    const auto* seq = std::get_if<Sequence>(&stmt->node);
    DOVETAIL_CHECK(seq, "only loops, sequences and blocks are lowered to the accelerator");
    for (const Stmt& child : seq->body) walk(child, outside);
  }

  LeafContext context() const { return {program_, intrinsics_, config_, limits_, dram_, placements_}; }

  const Program& program_;
  const IntrinsicTable& intrinsics_;
  const isa::HardwareConfig& config_;
  const InstructionLimits limits_;
  const std::map<std::string, std::uint64_t>& dram_;
  int node_;
  Stream& stream_;
  std::map<const BufferNode*, Placement> placements_;
  std::map<const StmtNode*, Leaf> leaves_;
  LoopValues values_;
};

}  // namespace

Result<void> lower(const Program& program, const IntrinsicTable& intrinsics, const isa::HardwareConfig& config,
                   const std::map<std::string, std::uint64_t>& dram, int node, Stream& stream) {
  return Lowering(program, intrinsics, config, dram, node, stream).run();
}

}  // namespace dovetail::accel
