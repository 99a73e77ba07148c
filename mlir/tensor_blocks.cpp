#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "loops/rewrite.h"
#include "mlir/tensor_function.h"
#include "mlir/tensors.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

class TensorBlockFinder {
 public:
  TensorBlocks run(const Program& program) {
    visit(program.body, 0);
    for (const Parameter& parameter : program.parameters)
      if (parameter.role == ParameterRole::output && !written_.contains(parameter.buffer.get()))
        problem(fmt::format("{} is not written", parameter.buffer->name));
    return std::move(found_);
  }

 private:
  void problem(std::string why) {
    if (!found_.problem) found_.problem = std::move(why);
  }

  void visit(const Stmt& stmt, std::size_t loops) {
    if (!stmt) return;
    if (const auto* sequence = std::get_if<Sequence>(&stmt->node)) {
      if (loops != 0 && sequence->body.size() != 1) return problem("a loop contains several statements");
      for (const Stmt& inner : sequence->body) visit(inner, loops);
    } else if (const auto* loop = std::get_if<For>(&stmt->node)) {
      visit(loop->body, loops + 1);
    } else if (const auto* block = std::get_if<Block>(&stmt->node)) {
      add(*block, loops);
    } else {
      problem("it has conditions or calls outside blocks");
    }
  }

  void add(const Block& block, std::size_t loops) {
    if (block.predicate) return problem(fmt::format("block {} has a condition", block.name));
    if (block.iterators.size() != loops)
      return problem(fmt::format("block {} is in loops that it does not use", block.name));
    TensorBlock result{&block, {}, {}, {}, {}};
    std::set<const VarNode*> bound, spatial;
    for (const Iterator& iterator : block.iterators) {
      const auto* n = std::get_if<VarRef>(&iterator.binding->node);
      if (n == nullptr || !bound.insert(n->var.get()).second)
        return problem(fmt::format("block {} has split loops", block.name));
      if (iterator.kind == IterKind::ordered)
        return problem(fmt::format("block {} runs in order: each step needs the one before", block.name));
      if (iterator.extent == 0) return problem(fmt::format("block {} has no iterations", block.name));
      if (iterator.kind == IterKind::reduce) result.reduce.push_back(&iterator);
      else spatial.insert(iterator.var.get());
    }
    const auto* store = std::get_if<Store>(&block.body->node);
    if (store == nullptr) return problem(fmt::format("block {} is not a single store", block.name));
    result.targets = store->targets;
    if (!find_dims(block, result, spatial)) return;
    if (!result.reduce.empty() && !add_init(block, result)) return;
    for (const StoreTarget& target : result.targets) {
      visit_exprs(target.value, [&](const Expr& e) {
        const auto* load = std::get_if<LoadExpr>(&e->node);
        if (load == nullptr) return;
        const bool own =
            std::ranges::any_of(result.targets, [&](const StoreTarget& each) { return each.buffer == load->buffer; });
        if (own && (result.reduce.empty() || !same_place(load->indices, target.indices)))
          problem(fmt::format("block {} reads other elements of what it writes", block.name));
      });
    }
    found_.blocks.push_back(std::move(result));
  }

  static bool same_place(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return structurally_equal(x, y); });
  }

  // Each dimension of the targets is indexed by a spatial iterator of its extent.
  bool find_dims(const Block& block, TensorBlock& result, std::set<const VarNode*> spatial) {
    const StoreTarget& first = result.targets.front();
    const auto fail = [&] {
      problem(fmt::format("block {} writes {} in parts", block.name, first.buffer->name));
      return false;
    };
    for (std::size_t dim = 0; dim < first.indices.size(); ++dim) {
      const auto* n = std::get_if<VarRef>(&first.indices[dim]->node);
      const auto* zero = std::get_if<IntImm>(&first.indices[dim]->node);
      const auto iterator = std::ranges::find_if(
          block.iterators, [&](const Iterator& each) { return n != nullptr && each.var == n->var; });
      if (zero != nullptr && zero->value == 0 && first.buffer->shape[dim] == 1) {
        result.dims.push_back(nullptr);
        continue;
      }
      if (iterator == block.iterators.end() || spatial.erase(n->var.get()) == 0 ||
          iterator->extent != first.buffer->shape[dim])
        return fail();
      result.dims.push_back(&*iterator);
    }
    if (!spatial.empty()) return fail();
    for (const StoreTarget& target : result.targets)
      if (!same_place(target.indices, first.indices) || target.buffer->shape != first.buffer->shape ||
          !written_.insert(target.buffer.get()).second)
        return fail();
    return true;
  }

  bool add_init(const Block& block, TensorBlock& result) {
    const auto* init = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
    if (init == nullptr || init->targets.size() != result.targets.size()) {
      problem(fmt::format("block {} has no initial value", block.name));
      return false;
    }
    for (const StoreTarget& target : result.targets) {
      const auto found = std::ranges::find_if(init->targets, [&](const StoreTarget& each) {
        return each.buffer == target.buffer && same_place(each.indices, target.indices);
      });
      if (found == init->targets.end()) {
        problem(fmt::format("block {} begins with another element", block.name));
        return false;
      }
      result.init.push_back(*found);
    }
    return true;
  }

  TensorBlocks found_;
  std::set<const BufferNode*> written_;
};

}  // namespace

TensorBlocks tensor_blocks(const Program& program) { return TensorBlockFinder().run(program); }

std::optional<std::string> why_no_tensors(const Program& program) { return tensor_blocks(program).problem; }

}  // namespace dovetail::mlir
