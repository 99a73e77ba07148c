#include "compiler/target/accel/intrinsics.h"

#include "loops/verify.h"

namespace dovetail::accel {

using namespace loops;

namespace {

// A block nest `name` over named axes; the body gets the iterators.
Stmt nest(const std::string& name, const std::vector<std::pair<std::int64_t, IterKind>>& axes,
          const std::function<Stmt(const std::vector<Expr>&)>& body) {
  Block block;
  block.name = name;
  std::vector<Var> loop_vars;
  std::vector<Expr> iterators;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    loop_vars.push_back(make_var(name + ".l" + std::to_string(i)));
    const Var iterator = make_var("i" + std::to_string(i));
    block.iterators.push_back({iterator, axes[i].first, axes[i].second, ref(loop_vars.back())});
    iterators.push_back(ref(iterator));
  }
  block.body = body(iterators);
  BlockRegions regions = infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Stmt stmt = make_stmt(std::move(block));
  for (std::size_t i = axes.size(); i-- > 0;)
    stmt = make_stmt(For{loop_vars[i], axes[i].first, ForKind::serial, "", {}, std::move(stmt)});
  return stmt;
}

struct Elements {
  std::int64_t batch, block;
  Buffer buffer(const std::string& name) const { return make_buffer(name, DType::int32, {batch, block}); }
  std::vector<std::pair<std::int64_t, IterKind>> axes() const {
    return {{batch, IterKind::spatial}, {block, IterKind::spatial}};
  }
};

}  // namespace

Expr shr_expression(Expr a, Expr s) {
  const Expr limit = int_imm(31, DType::int32), zero = int_imm(0, DType::int32);
  return select(binary(BinaryOp::ge, s, zero), binary(BinaryOp::shr, a, binary(BinaryOp::min, s, limit)),
                binary(BinaryOp::shl, a, binary(BinaryOp::min, unary(UnaryOp::neg, s), limit)));
}

IntrinsicTable make_intrinsics(const isa::HardwareConfig& config) {
  const Elements acc{config.batch, config.block_out};
  IntrinsicTable table;

  {
    const Buffer d = acc.buffer("D");
    const Buffer x = make_buffer("X", DType::int8, {config.batch, config.block_in});
    const Buffer w = make_buffer("W", DType::int8, {config.block_out, config.block_in});
    auto axes = acc.axes();
    axes.push_back({config.block_in, IterKind::reduce});
    const Stmt body = nest("gemm", axes, [&](const std::vector<Expr>& i) {
      return store(d, {i[0], i[1]},
                   load(d, {i[0], i[1]}) +
                       cast(DType::int32, load(x, {i[0], i[2]})) * cast(DType::int32, load(w, {i[1], i[2]})));
    });
    table.push_back(
        {"accel.gemm",
         {"accel.gemm", {{d, ParameterRole::output}, {x, ParameterRole::input}, {w, ParameterRole::input}}, {}, body},
         {kAccScope, kInpScope, kWgtScope},
         {},
         false});
  }
  {
    const Buffer d = acc.buffer("D");
    const Var imm = make_var("imm", DType::int32);
    const Stmt body = nest("fill", acc.axes(), [&](const std::vector<Expr>& i) { return store(d, i, ref(imm)); });
    table.push_back({"accel.fill", {"accel.fill", {{d, ParameterRole::output}}, {}, body}, {kAccScope}, {imm}, false});
  }

  using Combine = Expr (*)(Expr, Expr);
  // clang-format off
  const std::pair<const char*, Combine> operations[] = {
      {"add", [](Expr a, Expr b) { return binary(BinaryOp::add, a, b); }}, {"min", [](Expr a, Expr b) { return binary(BinaryOp::min, a, b); }},
      {"max", [](Expr a, Expr b) { return binary(BinaryOp::max, a, b); }}, {"mul", [](Expr a, Expr b) { return binary(BinaryOp::mul, a, b); }},
      {"shr", [](Expr a, Expr b) { return shr_expression(a, b); }},
  };
  // clang-format on
  for (const auto& [op, combine] : operations) {
    const Buffer d = acc.buffer("D"), a = acc.buffer("A"), s = acc.buffer("S");
    const std::string name = std::string("accel.") + op;
    const Stmt body = nest(op, acc.axes(), [&, &combine = combine](const std::vector<Expr>& i) {
      return store(d, i, combine(load(a, i), load(s, i)));
    });
    table.push_back(
        {name,
         {name, {{d, ParameterRole::output}, {a, ParameterRole::input}, {s, ParameterRole::input}}, {}, body},
         {kAccScope, kAccScope, kAccScope},
         {},
         true});
    const Buffer di = acc.buffer("D"), ai = acc.buffer("A");
    const Var imm = make_var("imm", DType::int32);
    const Stmt body_imm = nest(op, acc.axes(), [&, &combine = combine](const std::vector<Expr>& i) {
      return store(di, i, combine(load(ai, i), ref(imm)));
    });
    table.push_back({name + "_imm",
                     {name + "_imm", {{di, ParameterRole::output}, {ai, ParameterRole::input}}, {}, body_imm},
                     {kAccScope, kAccScope},
                     {imm},
                     true});
  }
  if (config.requant) {
    const Buffer d = acc.buffer("D"), a = acc.buffer("A");
    const Buffer s = make_buffer("S", DType::int32, {2, config.batch, config.block_out});
    const Var imm = make_var("imm", DType::int32);
    const Stmt body = nest("requant", acc.axes(), [&](const std::vector<Expr>& i) {
      const Expr scale = bitcast(DType::float32, load(s, {int_imm(0), i[0], i[1]}));
      const Expr biased = load(a, i) + load(s, {int_imm(1), i[0], i[1]});
      return store(d, i, call(Function::requantize, {biased, scale, ref(imm)}));
    });
    table.push_back({"accel.requant",
                     {"accel.requant",
                      {{d, ParameterRole::output}, {a, ParameterRole::input}, {s, ParameterRole::input}},
                      {},
                      body},
                     {kAccScope, kAccScope, kAccScope},
                     {imm},
                     true});
  }
  for (Intrinsic& row : table) {
    row.execution = ExecutionScope::machine_queue;
    row.completion = Completion::commit_wait;  // dependency tokens between the queues
  }
  return table;
}

}  // namespace dovetail::accel
