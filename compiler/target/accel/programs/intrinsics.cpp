#include "compiler/target/accel/programs/intrinsics.h"

#include <fmt/format.h>

#include "base/check.h"
#include "isa/semantics/epilogue.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"
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

Expr clamp_int8(const Expr& value) {
  return binary(BinaryOp::min, binary(BinaryOp::max, value, int_imm(INT8_MIN, DType::int32)),
                int_imm(INT8_MAX, DType::int32));
}

// The expression that an operation computes for a lane; source(k) is the lane of acc[src + k], or the immediate.
Expr meaning(isa::AluOp op, const Expr& a, const std::function<Expr(int)>& source, const Expr& parameter,
             const Buffer& table) {
  switch (op) {
    case isa::AluOp::min: return binary(BinaryOp::min, a, source(0));
    case isa::AluOp::max: return binary(BinaryOp::max, a, source(0));
    case isa::AluOp::add: return binary(BinaryOp::add, a, source(0));
    case isa::AluOp::shr: return shr_expression(a, source(0));
    case isa::AluOp::mul: return binary(BinaryOp::mul, a, source(0));
    case isa::AluOp::requant:
      return call(Function::requantize, {a + source(1), bitcast(DType::float32, source(0)), parameter});
    case isa::AluOp::requant8:
      return clamp_int8(call(Function::requantize, {a + source(1), bitcast(DType::float32, source(0)), parameter}));
    case isa::AluOp::sqadd: return a + source(0) * source(0);
    case isa::AluOp::rmax:
    case isa::AluOp::radd:
    case isa::AluOp::recip:
    case isa::AluOp::rsqrt: break;  // of a row
    case isa::AluOp::table:
    case isa::AluOp::tableu: {
      const Expr offset = source(0);
      return table_expression(table, offset ? a + offset : a);
    }
  }
  throw InternalError(fmt::format("ALU operation {} has no meaning as an expression", static_cast<int>(op)));
}

enum class Operand { vector, immediate, vector_and_parameter };

// A function instead of a nested initializer, since GCC 12 destroys vectors that it has not constructed when memory
// runs out within a nested initializer.
Intrinsic intrinsic(const std::string& name, std::vector<Parameter> parameters, const Stmt& body,
                    std::vector<std::string> scopes, std::vector<Var> immediates, bool in_place) {
  Intrinsic made;
  made.name = made.semantics.name = name;
  made.semantics.parameters = std::move(parameters);
  made.semantics.body = body;
  made.scopes = std::move(scopes);
  made.immediates = std::move(immediates);
  made.in_place = in_place;
  made.execution = ExecutionScope::machine_queue;
  made.completion = Completion::commit_wait;  // dependency tokens between the queues
  return made;
}

Intrinsic alu_intrinsic(const Elements& acc, const isa::spec::AluOpInfo& row, Operand operand) {
  const Buffer d = acc.buffer("D"), a = acc.buffer("A");
  const bool one_element = row.source_elements == 1;
  const Buffer s = one_element
                       ? acc.buffer("S")
                       : make_buffer("S", DType::int32, {std::int64_t{row.source_elements}, acc.batch, acc.block});
  const Buffer table =
      isa::spec::reads_table(row.op)
          ? make_buffer("T", row.op == isa::AluOp::table ? DType::int16 : DType::uint16, {1, isa::spec::kTableEntries})
          : nullptr;
  const Var imm = make_var("imm", DType::int32);
  const Stmt body = nest(std::string(row.name), acc.axes(), [&](const std::vector<Expr>& i) {
    const auto source = [&](int element) -> Expr {
      if (operand == Operand::immediate) return table ? nullptr : ref(imm);
      return one_element ? load(s, i) : load(s, {int_imm(element), i[0], i[1]});
    };
    return store(d, i, meaning(row.op, load(a, i), source, ref(imm), table));
  });
  const std::string name = fmt::format("accel.{}{}", row.name, operand == Operand::immediate ? "_imm" : "");
  std::vector<Parameter> parameters{{d, ParameterRole::output}, {a, ParameterRole::input}};
  std::vector<std::string> scopes{kAccScope, kAccScope};
  if (operand != Operand::immediate) {
    parameters.push_back({s, ParameterRole::input});
    scopes.emplace_back(kAccScope);
  }
  if (table) {
    parameters.push_back({table, ParameterRole::input});
    scopes.emplace_back(kTabScope);
  }
  std::vector<Var> immediates;
  if (operand != Operand::vector && !table) immediates.push_back(imm);
  return intrinsic(name, std::move(parameters), body, std::move(scopes), std::move(immediates), true);
}

}  // namespace

std::int64_t usable_depth(const isa::HardwareConfig& config, isa::Memory memory) {
  return config.depth(memory) - (config.window && memory == isa::Memory::wgt ? 1 : 0);
}

Expr shr_expression(Expr a, Expr s) {
  const Expr limit = int_imm(31, DType::int32), zero = int_imm(0, DType::int32);
  return select(binary(BinaryOp::ge, s, zero), binary(BinaryOp::shr, a, binary(BinaryOp::min, s, limit)),
                binary(BinaryOp::shl, a, binary(BinaryOp::min, unary(UnaryOp::neg, s), limit)));
}

Expr epilogue_expression(const Expr& acc, std::int64_t block_in, const std::function<Expr(std::size_t)>& parameter) {
  using namespace isa::semantics;
  const auto number = [&](std::size_t at) { return cast(DType::int32, parameter(at)); };
  const auto word = [&](std::size_t at) {
    Expr value = binary(BinaryOp::shl, number(at + 3), int_imm(24, DType::int32));
    for (std::size_t byte = 3; byte-- > 0;) {
      Expr part = binary(BinaryOp::bit_and, number(at + byte), int_imm(255, DType::int32));
      if (byte > 0) part = binary(BinaryOp::shl, part, int_imm(static_cast<std::int64_t>(8 * byte), DType::int32));
      value = binary(BinaryOp::bit_or, value, part);
    }
    return value;
  };
  const auto row = static_cast<std::size_t>(block_in);
  const Expr value = call(Function::requantize,
                          {acc + word(kBiasAt), bitcast(DType::float32, word(kScaleAt)), number(zero_point_at(row))});
  return binary(BinaryOp::min, binary(BinaryOp::max, value, number(least_at(row))), number(most_at(row)));
}

Expr table_expression(const Buffer& table, Expr index) {
  return cast(DType::int32, load(table, {int_imm(0), cast(DType::int64, clamp_int8(index)) + int_imm(-INT8_MIN)}));
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
    table.push_back(intrinsic("accel.gemm",
                              {{d, ParameterRole::output}, {x, ParameterRole::input}, {w, ParameterRole::input}}, body,
                              {kAccScope, kInpScope, kWgtScope}, {}, false));
  }
  if (config.window) {
    const Buffer d = acc.buffer("D");
    const Buffer x = make_buffer("X", DType::int8, {config.batch, config.block_in});
    const Buffer w = make_buffer("W", DType::int8, {config.block_out});
    const Stmt body = nest("tap", acc.axes(), [&](const std::vector<Expr>& i) {
      return store(d, i, load(d, i) + cast(DType::int32, load(x, i)) * cast(DType::int32, load(w, {i[1]})));
    });
    table.push_back(intrinsic("accel.tap",
                              {{d, ParameterRole::output}, {x, ParameterRole::input}, {w, ParameterRole::input}}, body,
                              {kAccScope, kInpScope, kWgtScope}, {}, false));
  }
  {
    const Buffer d = acc.buffer("D");
    const Var imm = make_var("imm", DType::int32);
    const Stmt body = nest("fill", acc.axes(), [&](const std::vector<Expr>& i) { return store(d, i, ref(imm)); });
    table.push_back(intrinsic("accel.fill", {{d, ParameterRole::output}}, body, {kAccScope}, {imm}, false));
  }

  for (const bool looks_up : {false, true}) {
    if (!config.epilogue || (looks_up && !config.table)) continue;
    const Buffer d = acc.buffer("D"), a = acc.buffer("A");
    const Buffer p = make_buffer("P", DType::int8, {config.block_out, config.block_in});
    const Buffer t = make_buffer("T", DType::int16, {1, isa::spec::kTableEntries});
    const Stmt body = nest("epilogue", acc.axes(), [&](const std::vector<Expr>& i) {
      const Expr value = epilogue_expression(load(a, i), config.block_in, [&](std::size_t byte) {
        return load(p, {i[1], int_imm(static_cast<std::int64_t>(byte))});
      });
      return store(d, i, looks_up ? table_expression(t, value) : value);
    });
    std::vector<Parameter> parameters{{d, ParameterRole::output}, {a, ParameterRole::input}, {p, ParameterRole::input}};
    std::vector<std::string> scopes{kAccScope, kAccScope, kWgtScope};
    if (looks_up) {
      parameters.push_back({t, ParameterRole::input});
      scopes.emplace_back(kTabScope);
    }
    table.push_back(intrinsic(looks_up ? "accel.epilogue_table" : "accel.epilogue", std::move(parameters), body,
                              std::move(scopes), {}, true));
  }
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps) {
    if (!isa::spec::is_enabled(row, config) || row.scope == isa::spec::AluScope::row) continue;
    if (isa::spec::takes_immediate(row.op)) {
      table.push_back(alu_intrinsic(acc, row, Operand::vector));
      table.push_back(alu_intrinsic(acc, row, Operand::immediate));
    } else {
      table.push_back(alu_intrinsic(acc, row, Operand::vector_and_parameter));
    }
  }
  return table;
}

}  // namespace dovetail::accel
