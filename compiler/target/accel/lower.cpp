#include "compiler/target/accel/lower.h"

#include <utility>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/leaf.h"
#include "compiler/target/accel/on_chip.h"

namespace dovetail::accel {

using namespace loops;

namespace {

class Lowering {
  // A reset that was not emitted yet.
  struct Reset {
    const Leaf* leaf = nullptr;
    LoopValues values;
  };
  // A virtual thread, or the one thread there is.
  struct Thread {
    LoopValues values;
    Reset reset;
  };

 public:
  Lowering(const Program& program, const IntrinsicTable& intrinsics, const isa::HardwareConfig& config,
           const std::map<std::string, std::uint64_t>& dram, const Placements& placements, int node,
           SramHistory& history, Stream& stream)
      : program_(program),
        intrinsics_(intrinsics),
        config_(config),
        limits_(config),
        dram_(dram),
        placements_(placements),
        node_(node),
        history_(history),
        stream_(stream) {}

  Result<void> run() {
    DOVETAIL_TRY(check_loops(program_, kLoopSupport));
    walk(program_.body, {});
    emit_reset(threads_.front());
    return {};
  }

 private:
  void walk(const Stmt& stmt, const std::vector<const For*>& outside) {
    if (schedule::only_block(stmt)) {
      auto leaf = leaves_.find(stmt.get());
      if (leaf == leaves_.end()) leaf = leaves_.emplace(stmt.get(), make_leaf(stmt, outside, context())).first;
      for (Thread& thread : threads_) emit(leaf->second, thread);
      return;
    }
    if (const For* loop = schedule::as_for(stmt)) {
      std::vector<const For*> inner = outside;
      inner.push_back(loop);
      if (loop->kind == ForKind::vthread) return walk_threads(*loop, inner);
      for (std::int64_t value = 0; value < loop->extent; ++value) {
        for (Thread& thread : threads_) thread.values[loop->var.get()] = value;
        walk(loop->body, inner);
      }
      for (Thread& thread : threads_) thread.values.erase(loop->var.get());
      return;
    }
    const auto* seq = std::get_if<Sequence>(&stmt->node);
    DOVETAIL_CHECK(seq, "only loops, sequences and blocks are lowered to the accelerator");
    for (const Stmt& child : seq->body) walk(child, outside);
  }

  // Virtual threads take turns, a statement each.
  void walk_threads(const For& loop, const std::vector<const For*>& inner) {
    for (Thread& thread : threads_) emit_reset(thread);
    const std::vector<Thread> around = std::exchange(threads_, {});
    for (const Thread& thread : around)
      for (std::int64_t value = 0; value < loop.extent; ++value) {
        threads_.push_back(thread);
        threads_.back().values[loop.var.get()] = value;
      }
    walk(loop.body, inner);
    for (Thread& thread : threads_) emit_reset(thread);
    threads_ = around;
  }

  // With the extension `overwrite` a reset waits for what is done next with ACC: the first products of its sums take
  // its place.
  void emit(const Leaf& leaf, Thread& thread) {
    if (config_.overwrite && leaf.compute && leaf.compute->intrinsic == "accel.fill" && leaf.compute->immediate == 0) {
      emit_reset(thread);
      thread.reset = {&leaf, thread.values};
      return;
    }
    const bool in_load_queue = leaf.transfer && !leaf.transfer->store && leaf.transfer->memory != isa::Memory::acc &&
                               leaf.transfer->memory != isa::Memory::acc8;
    const bool starts_sums = thread.reset.leaf && leaf.compute && leaf.compute->intrinsic == "accel.gemm" &&
                             write_the_same(*thread.reset.leaf, thread.reset.values, leaf, thread.values, context());
    if (starts_sums) thread.reset = {};
    else if (!in_load_queue) emit_reset(thread);
    emit_leaf(leaf, thread.values, context(), node_, stream_, starts_sums);
    touch(leaf, thread.values);
  }
  void emit_reset(Thread& thread) {
    const Reset reset = std::exchange(thread.reset, {});
    if (!reset.leaf) return;
    emit_leaf(*reset.leaf, reset.values, context(), node_, stream_, false);
    touch(*reset.leaf, reset.values);
  }

  void touch(const Leaf& leaf, const LoopValues& values) {
    const auto form = [&](const LeafForm& at) {
      if (at.place == nullptr) return;
      const std::int64_t begin = at.place->begin(values);
      history_.touch(at.place->memory, begin, begin + at.place->elements,
                     static_cast<std::int64_t>(stream_.instructions.size()));
    };
    if (leaf.transfer) form(leaf.transfer->on_chip);
    if (!leaf.compute) return;
    form(leaf.compute->dst);
    if (leaf.compute->src) form(*leaf.compute->src);
    if (leaf.compute->wgt) form(*leaf.compute->wgt);
  }

  LeafContext context() const { return {program_, intrinsics_, config_, limits_, dram_, placements_}; }

  const Program& program_;
  const IntrinsicTable& intrinsics_;
  const isa::HardwareConfig& config_;
  const InstructionLimits limits_;
  const std::map<std::string, std::uint64_t>& dram_;
  const Placements& placements_;
  int node_;
  SramHistory& history_;
  Stream& stream_;
  std::map<const StmtNode*, Leaf> leaves_;
  std::vector<Thread> threads_{{}};
};

}  // namespace

Result<void> lower(const Program& program, const IntrinsicTable& intrinsics, const isa::HardwareConfig& config,
                   const std::map<std::string, std::uint64_t>& dram, const Placements& placements, int node,
                   SramHistory& history, Stream& stream) {
  return Lowering(program, intrinsics, config, dram, placements, node, history, stream).run();
}

}  // namespace dovetail::accel
