#include "compiler/target/accel/lower/lower.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/saturating.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/accel/lower/leaf.h"
#include "compiler/target/accel/lower/on_chip.h"
#include "compiler/target/accel/programs/intrinsics.h"

namespace dovetail::accel {

using namespace loops;

namespace {

class Lowering {
  // An iteration of a leaf.
  struct Iteration {
    const Leaf* leaf;
    LoopValues values;
  };
  // Products that wait for what follows: an epilogue becomes part of them.
  struct Products {
    Iteration iteration;
    bool start_sums;
  };
  // A virtual thread, or the only thread. What is not emitted yet:
  struct Thread {
    LoopValues values;
    std::vector<Iteration> resets;  // their places do not overlap
    std::optional<Products> products;
  };

 public:
  explicit Lowering(const LeafContext& context) : context_(context) {}

  Result<Lowered> run() {
    if (const std::uint64_t steps = walked(context_.program.body); steps > kMostInstructions)
      return cannot_lower(context_.program, "",
                          fmt::format("{} iterations of its loops would be lowered one by one, at most {} may be",
                                      steps, kMostInstructions),
                          "use larger tiles, or let loops belong to one block");
    DOVETAIL_TRY(walk(context_.program.body, {}));
    DOVETAIL_TRY(emit_waiting(threads_.front()));
    return std::move(lowered_);
  }

 private:
  // The number of iterations that walk() visits.
  static std::uint64_t walked(const Stmt& stmt) {
    if (schedule::only_block(stmt)) return 1;
    if (const For* loop = schedule::as_for(stmt))
      return saturating_product(static_cast<std::uint64_t>(loop->extent),
                                std::max<std::uint64_t>(walked(loop->body), 1));
    std::uint64_t sum = 0;
    if (const auto* seq = std::get_if<Sequence>(&stmt->node))
      for (const Stmt& child : seq->body) sum = saturating_sum(sum, walked(child));
    return sum;
  }

  Result<void> walk(const Stmt& stmt, const std::vector<const For*>& outside) {
    if (schedule::only_block(stmt)) {
      auto leaf = leaves_.find(stmt.get());
      if (leaf == leaves_.end()) {
        DOVETAIL_ASSIGN(Leaf made, make_leaf(stmt, outside, context_));
        leaf = leaves_.emplace(stmt.get(), std::move(made)).first;
      }
      for (Thread& thread : threads_) DOVETAIL_TRY(emit(leaf->second, thread));
      return {};
    }
    if (const For* loop = schedule::as_for(stmt)) {
      std::vector<const For*> inner = outside;
      inner.push_back(loop);
      if (loop->kind == ForKind::vthread) return walk_threads(*loop, inner);
      for (std::int64_t value = 0; value < loop->extent; ++value) {
        for (Thread& thread : threads_) thread.values[loop->var.get()] = value;
        DOVETAIL_TRY(walk(loop->body, inner));
      }
      for (Thread& thread : threads_) thread.values.erase(loop->var.get());
      return {};
    }
    const auto* seq = std::get_if<Sequence>(&stmt->node);
    if (seq == nullptr)
      return cannot_lower(context_.program, outside.empty() ? "" : fmt::format("loop {}", outside.back()->var->name),
                          "it has a condition around blocks", "give the blocks predicates (where ...)");
    for (const Stmt& child : seq->body) DOVETAIL_TRY(walk(child, outside));
    return {};
  }

  // Virtual threads take turns after each statement.
  Result<void> walk_threads(const For& loop, const std::vector<const For*>& inner) {
    for (Thread& thread : threads_) DOVETAIL_TRY(emit_waiting(thread));
    const std::vector<Thread> around = std::exchange(threads_, {});
    for (const Thread& thread : around)
      for (std::int64_t value = 0; value < loop.extent; ++value) {
        threads_.push_back(thread);
        threads_.back().values[loop.var.get()] = value;
      }
    DOVETAIL_TRY(walk(loop.body, inner));
    for (Thread& thread : threads_) DOVETAIL_TRY(emit_waiting(thread));
    threads_ = around;
    return {};
  }

  // With the extension `overwrite`, resets are delayed until the next use of ACC: the first products of their sums
  // replace them. With `epilogue`, products are delayed until the next leaf.
  Result<void> emit(const Leaf& leaf, Thread& thread) {
    if (leaf.compute && leaf.compute->is_epilogue()) return complete_sums(leaf, thread);
    DOVETAIL_TRY(emit_products(thread, nullptr));
    if (leaf.compute && leaf.compute->does_nothing()) return {};
    if (context_.facts.overwrite && leaf.compute && leaf.compute->intrinsic == "accel.fill" &&
        leaf.compute->immediate == 0) {
      if (std::ranges::any_of(thread.resets, [&](const Iteration& other) { return share_place(leaf, thread, other); }))
        DOVETAIL_TRY(emit_resets(thread));
      thread.resets.push_back({&leaf, thread.values});
      return {};
    }
    const bool loads_elsewhere = leaf.transfer && !leaf.transfer->store && leaf.transfer->memory != isa::Memory::acc &&
                                 leaf.transfer->memory != isa::Memory::acc8;
    auto started = thread.resets.end();
    const bool multiplies = leaf.compute && leaf.compute->multiplies();
    if (multiplies)
      started = std::ranges::find_if(thread.resets, [&](const Iteration& reset) {
        return write_the_same(*reset.leaf, reset.values, leaf, thread.values, context_);
      });
    const bool starts_sums = started != thread.resets.end();
    if (starts_sums) thread.resets.erase(started);
    else if (!loads_elsewhere) DOVETAIL_TRY(emit_resets(thread));
    if (multiplies && context_.facts.epilogue) {
      thread.products = Products{{&leaf, thread.values}, starts_sums};
      return {};
    }
    DOVETAIL_TRY(emit_leaf(leaf, thread.values, context_, 0, lowered_.stream, {starts_sums}));
    touch(leaf, thread.values);
    return {};
  }
  Result<void> complete_sums(const Leaf& epilogue, Thread& thread) {
    if (!thread.products || !write_the_same(*thread.products->iteration.leaf, thread.products->iteration.values,
                                            epilogue, thread.values, context_))
      return cannot_lower(context_.program, fmt::format("block {}", epilogue.block),
                          "the products before it do not complete the sums that it requantizes",
                          "let it follow the products of the same tile, after the last tile of channels");
    DOVETAIL_TRY(emit_products(thread, &epilogue));
    touch(epilogue, thread.values);
    return {};
  }
  Result<void> emit_products(Thread& thread, const Leaf* epilogue) {
    if (!thread.products) return {};
    const Products products = *std::exchange(thread.products, std::nullopt);
    const auto& [leaf, values] = products.iteration;
    DOVETAIL_TRY(emit_leaf(*leaf, values, context_, 0, lowered_.stream, {products.start_sums, epilogue}));
    touch(*leaf, values);
    return {};
  }
  static bool share_place(const Leaf& leaf, const Thread& thread, const Iteration& other) {
    const Placement &a = *leaf.compute->dst.place, &b = *other.leaf->compute->dst.place;
    const std::int64_t begin = a.begin(thread.values), other_begin = b.begin(other.values);
    return begin < other_begin + b.elements && other_begin < begin + a.elements;
  }
  Result<void> emit_waiting(Thread& thread) {
    DOVETAIL_TRY(emit_products(thread, nullptr));
    return emit_resets(thread);
  }
  Result<void> emit_resets(Thread& thread) {
    for (const Iteration& reset : std::exchange(thread.resets, {})) {
      DOVETAIL_TRY(emit_leaf(*reset.leaf, reset.values, context_, 0, lowered_.stream, {}));
      touch(*reset.leaf, reset.values);
    }
    return {};
  }

  void touch(const Leaf& leaf, const LoopValues& values) {
    const auto form = [&](const LeafForm& at) {
      if (at.place == nullptr) return;
      const std::int64_t begin = at.place->begin(values);
      lowered_.touches.push_back({at.place->memory, begin, begin + at.place->elements,
                                  static_cast<std::int64_t>(lowered_.stream.instructions.size())});
    };
    if (leaf.transfer) form(leaf.transfer->on_chip);
    if (!leaf.compute) return;
    form(leaf.compute->dst);
    if (leaf.compute->src) form(*leaf.compute->src);
    if (leaf.compute->wgt) form(*leaf.compute->wgt);
  }

  const LeafContext context_;
  Lowered lowered_;
  std::map<const StmtNode*, Leaf> leaves_;
  std::vector<Thread> threads_{{}};
};

}  // namespace

Result<Lowered> lower(const Program& program, const IntrinsicTable& intrinsics, const LoweringFacts& facts,
                      const Placements& placements) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  return Lowering({program, intrinsics, facts, placements}).run();
}

void touch(const Lowered& lowered, std::size_t before, SramHistory& history) {
  for (const Lowered::Touch& touch : lowered.touches)
    history.touch(touch.memory, touch.begin, touch.end, static_cast<std::int64_t>(before) + touch.at);
}

void append(const Lowered& lowered, const Program& program, const LoweringFacts& facts, const DramPlaces& dram,
            int node, SramHistory& history, Stream& stream) {
  std::vector<DramPlace> places;  // of parameters
  for (const Parameter& parameter : program.parameters) {
    const auto found = dram.find(parameter.buffer->name);
    DOVETAIL_CHECK(found != dram.end(), fmt::format("no DRAM address for {}", parameter.buffer->name));
    places.push_back(found->second);
  }
  const auto place = [&](isa::Transfer& transfer, StreamInstruction& item, int parameter) {
    const auto [address, int4, most_offset] = places[static_cast<std::size_t>(parameter)];
    transfer.offset = most_offset > 0;
    item.most_offset = most_offset;
    DOVETAIL_CHECK(!int4 || transfer.memory == isa::Memory::wgt, "only weights have 4 bits");
    if (int4) transfer.memory = isa::Memory::wgt4;
    const std::uint64_t bytes = facts.bytes_of(transfer.memory);
    DOVETAIL_CHECK(address % bytes == 0, "parameters are aligned to their elements");
    transfer.dram_base += address / bytes;
  };
  std::vector<int> kernels;
  for (const std::vector<isa::Uop>& kernel : lowered.stream.kernels) kernels.push_back(stream.kernel(kernel));
  touch(lowered, stream.instructions.size(), history);
  for (StreamInstruction item : lowered.stream.instructions) {
    if (item.kernel >= 0) item.kernel = kernels[static_cast<std::size_t>(item.kernel)];
    item.node = node;
    if (const int parameter = std::exchange(item.parameter, -1); parameter >= 0) {
      if (auto* load = std::get_if<isa::Load>(&item.instruction.body)) place(*load, item, parameter);
      else place(std::get<isa::Store>(item.instruction.body), item, parameter);
    }
    stream.instructions.push_back(std::move(item));
  }
}

}  // namespace dovetail::accel
