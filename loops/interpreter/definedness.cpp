#include "loops/interpreter/definedness.h"

#include <algorithm>

#include "base/ndarray.h"
#include "loops/interpreter/access.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

class Definedness {
 public:
  Definedness(const CoreProgram& core, const std::vector<Buffer>& outputs) : core_(core) {
    for (const Buffer& buffer : outputs) candidates_.insert(buffer.get());
    for (const Buffer& buffer : core.temporary) candidates_.insert(buffer.get());
  }

  std::set<const BufferNode*> run(const std::vector<Buffer>& outputs) {
    if (core_.body) walk(core_.body);
    for (const Buffer& buffer : outputs)
      if (full_.count(buffer.get()) == 0 && element_count(buffer->shape) > 0) unproven_.insert(buffer.get());
    return unproven_;
  }

 private:
  void walk(const Core& core) {
    std::visit([&](const auto& n) { visit(n); }, core->node);
  }

  void visit(const CoreLoop& n) {
    const std::size_t known = available_.size();
    loops_.push_back(n.var.get());
    walk(n.body);
    loops_.pop_back();
    available_.resize(known);  // written elements are expressed in the loop's variable
    // Loops run at least twice, so a buffer that this loop and those inside it cover is fully written from here on.
    std::erase_if(covered_, [&](const auto& entry) {
      if (entry.first < loops_.size()) return false;
      full_.insert(entry.second);
      return true;
    });
  }

  void visit(const CoreIf& n) {
    read(n.condition, nullptr);
    const auto full = full_;
    const auto available = available_;
    const auto covered = covered_;
    for (const Core& branch : {n.then_body, n.else_body}) {
      if (branch) walk(branch);
      full_ = full;
      available_ = available;
      covered_ = covered;
    }
  }

  void visit(const CoreSequence& n) {
    for (const Core& inner : n.body) walk(inner);
  }

  void visit(const CoreStore& n) {
    for (const StoreTarget& target : n.targets) {
      for (const Expr& index : target.indices) read(index, &n);
      read(target.value, &n);
    }
    for (const StoreTarget& target : n.targets) {
      if (candidates_.count(target.buffer.get()) == 0 || full_.count(target.buffer.get()) != 0) continue;
      available_.push_back({target.buffer, target.indices});
      note_coverage(target);
    }
  }

  void visit(const CoreCall&) {}  // dissolved for the interpreter
  void visit(const CoreBarrier&) {}
  void visit(const CoreAsyncCopy&) {}  // only loops/threads makes them, and only run_threads runs them
  void visit(const CoreAsyncGroup&) {}
  void visit(const CoreCallGroup&) {}
  void visit(const CoreProxyFence&) {}
  void visit(const CoreBoxCopy&) {}
  void visit(const CoreSignal&) {}
  void visit(const CoreShuffle&) {}  // occur only in lowered threads (loops/threads)
  void visit(const CoreForget& n) {
    full_.erase(n.buffer.get());
    std::erase_if(available_, [&](const LoadExpr& place) { return place.buffer == n.buffer; });
  }

  void read(const Expr& expr, const CoreStore* store) {
    visit_exprs(expr, [&](const Expr& e) {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      if (n == nullptr || candidates_.count(n->buffer.get()) == 0 || full_.count(n->buffer.get()) != 0) return;
      const auto matches = [&](const LoadExpr& place) {
        return place.buffer == n->buffer && same_place(place.indices, n->indices);
      };
      if (std::any_of(available_.begin(), available_.end(), matches)) return;
      if (store != nullptr && std::any_of(store->initialized.begin(), store->initialized.end(), matches)) return;
      unproven_.insert(n->buffer.get());
    });
  }

  // The offsets written by the enclosing loops cover the buffer exactly if their coefficients form a mixed-radix
  // system: 1, e0, e0*e1, ...
  void note_coverage(const StoreTarget& target) {
    const auto flat = flat_offset(*target.buffer, target.indices);
    if (!flat || flat->constant != 0) return;
    std::vector<std::pair<std::int64_t, const VarNode*>> digits;
    for (const auto& [var, coefficient] : flat->coefficients) digits.emplace_back(coefficient, var);
    std::sort(digits.begin(), digits.end());
    std::int64_t covered = 1;
    std::size_t outermost = loops_.size();
    for (const auto& [coefficient, var] : digits) {
      if (coefficient != covered) return;
      covered *= core_.bounds.at(var).max + 1;
      const auto position = std::find(loops_.begin(), loops_.end(), var);
      if (position == loops_.end()) return;
      outermost = std::min(outermost, static_cast<std::size_t>(position - loops_.begin()));
    }
    if (covered != element_count(target.buffer->shape)) return;
    if (outermost == loops_.size()) full_.insert(target.buffer.get());
    else covered_.emplace_back(outermost, target.buffer.get());
  }

  const CoreProgram& core_;
  std::set<const BufferNode*> candidates_, full_, unproven_;
  std::vector<const VarNode*> loops_;
  std::vector<LoadExpr> available_;  // elements known to be written, in the variables of the enclosing loops
  std::vector<std::pair<std::size_t, const BufferNode*>> covered_;  // fully written once the loop of that depth is done
};

}  // namespace

std::set<const BufferNode*> buffers_to_track(const CoreProgram& core, const std::vector<Buffer>& outputs) {
  return Definedness(core, outputs).run(outputs);
}

}  // namespace dovetail::loops
