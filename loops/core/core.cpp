#include "loops/core/core.h"

#include <utility>

#include "loops/print.h"

namespace dovetail::loops {
namespace {

// The statement that the printer shows for this node.
struct AsStmt {
  Stmt operator()(const Core& core) const { return core ? std::visit(*this, core->node) : make_stmt(Sequence{}); }
  Stmt operator()(const CoreLoop& n) const {
    For loop{n.var, n.extent, n.kind, n.thread_axis, n.annotations, (*this)(n.body)};
    if (n.first) loop.annotations["from"] = to_string(n.first);
    if (n.end) loop.annotations["to"] = to_string(n.end);
    if (n.proceed) loop.annotations["while"] = to_string(n.proceed);
    return make_stmt(std::move(loop));
  }
  Stmt operator()(const CoreIf& n) const {
    return make_stmt(If{n.condition, (*this)(n.then_body), n.else_body ? (*this)(n.else_body) : nullptr});
  }
  Stmt operator()(const CoreSequence& n) const {
    Sequence sequence;
    for (const Core& inner : n.body) sequence.body.push_back((*this)(inner));
    return make_stmt(std::move(sequence));
  }
  Stmt operator()(const CoreStore& n) const { return make_stmt(Store{n.targets}); }
  Stmt operator()(const CoreCall& n) const {
    IntrinsicCall call{n.later ? "later " + n.intrinsic : n.intrinsic, n.operands, n.immediates};
    for (const std::optional<CoreMatrix>& matrix : n.matrices)
      if (matrix)
        for (const std::int64_t part : {matrix->depth_inner ? std::int64_t{1} : std::int64_t{0}, matrix->leading,
                                        matrix->stride, matrix->swizzle})
          call.immediates.push_back(int_imm(part));
    return make_stmt(std::move(call));
  }
  Stmt operator()(const CoreCallGroup& n) const {
    using Step = CoreCallGroup::Step;
    const std::string name = n.step == Step::arrive ? "arrive" : n.step == Step::commit ? "commit_calls" : "wait_calls";
    return make_stmt(
        IntrinsicCall{name, {}, n.step == Step::wait ? std::vector<Expr>{int_imm(n.groups)} : std::vector<Expr>{}});
  }
  Stmt operator()(const CoreProxyFence&) const { return make_stmt(IntrinsicCall{"fence_proxy", {}, {}}); }
  Stmt operator()(const CoreBoxCopy& n) const {
    std::vector<Expr> numbers;
    for (const Shape* shape : {&n.tensor, &n.box})
      for (const std::int64_t extent : *shape) numbers.push_back(int_imm(extent));
    numbers.push_back(int_imm(n.swizzle));
    return make_stmt(IntrinsicCall{
        "copy_box", {{n.to, n.to_indices, {}}, {n.from, n.from_indices, {}}, {n.signals, {n.signal}, {}}}, numbers});
  }
  Stmt operator()(const CoreSignal& n) const {
    using Step = CoreSignal::Step;
    const std::string name = n.step == Step::start    ? "start_signal"
                             : n.step == Step::expect ? "expect_bytes"
                                                      : "wait_signal";
    std::vector<Expr> numbers;
    if (n.step == Step::expect) numbers.push_back(int_imm(n.bytes));
    if (n.step == Step::wait) numbers.push_back(n.parity);
    return make_stmt(IntrinsicCall{name, {{n.signals, {n.signal}, {}}}, numbers});
  }
  Stmt operator()(const CoreBarrier& n) const {
    return make_stmt(IntrinsicCall{n.of_warp ? "warp_barrier" : "barrier", {}, {}});
  }
  Stmt operator()(const CoreAsyncCopy& n) const {
    std::vector<Expr> numbers{int_imm(n.elements)};
    if (n.condition) numbers.push_back(n.condition);
    return make_stmt(IntrinsicCall{"copy_async", {{n.to, n.to_indices, {}}, {n.from, n.from_indices, {}}}, numbers});
  }
  Stmt operator()(const CoreAsyncGroup& n) const {
    const bool commits = n.step == CoreAsyncGroup::Step::commit;
    return make_stmt(IntrinsicCall{
        commits ? "commit" : "wait", {}, commits ? std::vector<Expr>{} : std::vector<Expr>{int_imm(n.groups)}});
  }
  Stmt operator()(const CoreShuffle& n) const {
    const std::vector<IntrinsicOperand> places{{n.to.buffer, n.to.indices, {}}, {n.from.buffer, n.from.indices, {}}};
    return make_stmt(IntrinsicCall{
        "shuffle_xor", places, {int_imm(n.distance), int_imm(static_cast<std::int64_t>(n.mask), DType::uint32)}});
  }
  Stmt operator()(const CoreForget& n) const {
    return make_stmt(
        IntrinsicCall{"forget", {{n.buffer, std::vector<Expr>(n.buffer->shape.size(), int_imm(0)), {}}}, {}});
  }
};

}  // namespace

Core make_core(decltype(CoreNode::node) node) { return std::make_shared<const CoreNode>(CoreNode{std::move(node)}); }

std::size_t run_dimension(const Shape& shape) {
  std::size_t d = shape.size() - 1;
  while (d > 0 && shape[d] == 1) --d;
  return d;
}

Core core_sequence(std::vector<Core> body) {
  CoreSequence flat;
  for (Core& inner : body) {
    if (!inner) continue;
    if (const auto* n = std::get_if<CoreSequence>(&inner->node))
      flat.body.insert(flat.body.end(), n->body.begin(), n->body.end());
    else flat.body.push_back(std::move(inner));
  }
  if (flat.body.empty()) return nullptr;
  return flat.body.size() == 1 ? flat.body.front() : make_core(std::move(flat));
}

Core core_if(const Expr& condition, Core body, Core otherwise) {
  if (!body && !otherwise) return nullptr;
  if (!condition) return body;
  if (const auto* n = std::get_if<IntImm>(&condition->node)) return n->value != 0 ? body : otherwise;
  return make_core(CoreIf{condition, body ? body : make_core(CoreSequence{}), otherwise});
}

std::string to_string(const Core& core) { return to_string(AsStmt{}(core)); }

std::string to_string(const CoreProgram& program) { return to_string(program.body); }

}  // namespace dovetail::loops
