#include "loops/core/unroll.h"

#include <utility>

#include "loops/core/instantiate.h"

namespace dovetail::loops {
namespace {

class Unroller {
 public:
  Unroller(const CoreProgram& program, const UnrollOptions& options) : options_(options) { result.program = program; }

  Unrolled result;

  Core unroll(const Core& core) {
    return core ? std::visit([&](const auto& n) { return unroll(n, core); }, core->node) : nullptr;
  }

 private:
  Core unroll(const CoreStore&, const Core& core) { return core; }
  Core unroll(const CoreForget&, const Core& core) { return core; }
  Core unroll(const CoreBarrier&, const Core& core) { return core; }
  Core unroll(const CoreAsyncCopy&, const Core& core) { return core; }
  Core unroll(const CoreAsyncGroup&, const Core& core) { return core; }
  Core unroll(const CoreCallGroup&, const Core& core) { return core; }
  Core unroll(const CoreProxyFence&, const Core& core) { return core; }
  Core unroll(const CoreBoxCopy&, const Core& core) { return core; }
  Core unroll(const CoreSignal&, const Core& core) { return core; }
  Core unroll(const CoreShuffle&, const Core& core) { return core; }
  Core unroll(const CoreCall&, const Core& core) { return core; }
  Core unroll(const CoreIf& n, const Core&) { return core_if(n.condition, unroll(n.then_body), unroll(n.else_body)); }
  Core unroll(const CoreSequence& n, const Core&) {
    std::vector<Core> body;
    for (const Core& inner : n.body) body.push_back(unroll(inner));
    return core_sequence(std::move(body));
  }
  Core unroll(const CoreLoop& n, const Core& core) {
    if (depth_ == 0) statements_ = statement_count(core);
    ++depth_;
    CoreLoop loop = n;
    loop.body = unroll(n.body);
    --depth_;
    if (!loop.body) return nullptr;
    if (n.kind != ForKind::unrolled) return make_core(std::move(loop));
    const std::int64_t added = statement_count(loop.body) * (n.extent - 1);
    if (statements_ + added > options_.max_statements) {
      result.kept.push_back(n.var->name);
      loop.kind = ForKind::serial;
      return make_core(std::move(loop));
    }
    statements_ += added;
    std::vector<Core> copies;
    for (std::int64_t i = 0; i < n.extent; ++i)
      copies.push_back(instantiate(loop.body, {{n.var.get(), int_imm(i, n.var->dtype)}}, result.program.bounds));
    return core_sequence(std::move(copies));
  }

  const UnrollOptions& options_;
  int depth_ = 0;                // number of enclosing loops
  std::int64_t statements_ = 0;  // statements of the outermost loop, as far as it is unrolled
};

}  // namespace

Unrolled unroll_loops(const CoreProgram& program, const UnrollOptions& options) {
  Unroller unroller(program, options);
  unroller.result.program.body = unroller.unroll(program.body);
  unroller.result.program.bounds = loop_bounds(unroller.result.program.body);
  return std::move(unroller.result);
}

}  // namespace dovetail::loops
