#include "compiler/target/accel/programs/intrinsics.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/semantics/epilogue.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"
#include "loops/verify.h"

namespace dovetail::accel {

using namespace loops;

namespace {

constexpr std::int64_t kMantissaBits = 23;  // of a binary32

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

// The expression that an operation of lanes computes for one; source(k) is the lane of acc[src + k], or the immediate.
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

enum class Operand { vector, immediate, none, vector_and_parameter };  // none: the immediate 0

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
  std::vector<Buffer> sources;
  if (operand == Operand::vector || operand == Operand::vector_and_parameter)
    for (std::uint32_t k = 0; k < row.source_elements; ++k)
      sources.push_back(acc.buffer(k == 0 ? "S" : fmt::format("S{}", k)));
  const Buffer table =
      isa::spec::reads_table(row.op)
          ? make_buffer("T", row.op == isa::AluOp::table ? DType::int16 : DType::uint16, {1, isa::spec::kTableEntries})
          : nullptr;
  const Var imm = make_var("imm", DType::int32);
  const Stmt body = nest(std::string(row.name), acc.axes(), [&](const std::vector<Expr>& i) {
    const auto source = [&](int element) -> Expr {
      if (operand == Operand::none) return nullptr;
      if (operand == Operand::immediate) return ref(imm);
      return load(sources[static_cast<std::size_t>(element)], i);
    };
    return store(d, i, meaning(row.op, load(a, i), source, ref(imm), table));
  });
  const char* suffix = operand == Operand::immediate ? "_imm" : operand == Operand::none ? "_alone" : "";
  const std::string name = fmt::format("accel.{}{}", row.name, suffix);
  std::vector<Parameter> parameters{{d, ParameterRole::output}, {a, ParameterRole::input}};
  std::vector<std::string> scopes{kAccScope, kAccScope};
  for (const Buffer& source : sources) {
    parameters.push_back({source, ParameterRole::input});
    scopes.emplace_back(kAccScope);
  }
  if (table) {
    parameters.push_back({table, ParameterRole::input});
    scopes.emplace_back(kTabScope);
  }
  std::vector<Var> immediates;
  if (operand == Operand::immediate || operand == Operand::vector_and_parameter) immediates.push_back(imm);
  return intrinsic(name, std::move(parameters), body, std::move(scopes), std::move(immediates), true);
}

Intrinsic row_intrinsic(const Elements& acc, const isa::spec::AluOpInfo& row) {
  const Buffer d = acc.buffer("D"), a = acc.buffer("A");
  const Var imm = make_var("imm", DType::int32);
  const Stmt body = nest(std::string(row.name), acc.axes(), [&](const std::vector<Expr>& i) {
    if (row.serial) return store(d, i, serial_expression(row.op, load(a, i), ref(imm)));
    return store(d, i, row_expression(row.op, acc.block, [&](std::int64_t lane) {
                   return load(a, {i[0], int_imm(lane)});
                 }));
  });
  return intrinsic(fmt::format("accel.{}", row.name), {{d, ParameterRole::output}, {a, ParameterRole::input}}, body,
                   {kAccScope, kAccScope}, row.serial ? std::vector{imm} : std::vector<Var>{}, true);
}

// The bits of the binary32 that is 2^exponent / x, for 0 < x < 2^28: there the binary64 quotient rounds correctly.
Expr reciprocal_expression(const Expr& x, const Expr& exponent) {
  const Expr quotient = binary(BinaryOp::div, float_imm(1, DType::float64), cast(DType::float64, x));
  return bitcast(DType::int32, cast(DType::float32, quotient)) +
         binary(BinaryOp::shl, exponent, int_imm(kMantissaBits, DType::int32));
}

// floor(sqrt(x * 2^24)) for x >= 0, int64.
Expr root_expression(const Expr& x) {
  const Expr radicand = binary(BinaryOp::shl, cast(DType::int64, x), int_imm(24));
  const Expr root = cast(DType::int64, unary(UnaryOp::sqrt, cast(DType::float64, radicand)));
  // The binary64 root may have been rounded up to the next integer.
  return root - cast(DType::int64, binary(BinaryOp::gt, root * root, radicand));
}

}  // namespace

Expr row_expression(isa::AluOp op, std::int64_t lanes, const std::function<Expr(std::int64_t)>& lane) {
  DOVETAIL_CHECK(op == isa::AluOp::rmax || op == isa::AluOp::radd, "the operation combines lanes");
  Expr value = lane(0);
  for (std::int64_t l = 1; l < lanes; ++l)
    value = binary(op == isa::AluOp::rmax ? BinaryOp::max : BinaryOp::add, value, lane(l));
  return value;
}

Expr serial_expression(isa::AluOp op, const Expr& x, const Expr& exponent) {
  if (op == isa::AluOp::recip) return reciprocal_expression(x, exponent);
  DOVETAIL_CHECK(op == isa::AluOp::rsqrt, "a serial unit computes the operation");
  constexpr std::int64_t kRootBits = 12;  // of the root's fraction
  return reciprocal_expression(root_expression(x), exponent + int_imm(kRootBits, DType::int32));
}

std::int64_t usable_depth(const Core& config, isa::Memory memory) {
  return config.depth(memory) - (config.window && memory == isa::Memory::wgt ? 1 : 0);
}

std::int64_t most_kernel_uops(const Core& config) { return config.depth(isa::Memory::uop) / 2; }

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

IntrinsicTable make_intrinsics(const Core& config) {
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
    if (!isa::spec::is_enabled(row, config)) continue;
    if (row.scope == isa::spec::AluScope::row) {
      table.push_back(row_intrinsic(acc, row));
    } else if (isa::spec::takes_immediate(row.op)) {
      table.push_back(alu_intrinsic(acc, row, Operand::vector));
      table.push_back(alu_intrinsic(acc, row, Operand::immediate));
      if (isa::spec::reads_table(row.op)) table.push_back(alu_intrinsic(acc, row, Operand::none));
    } else {
      table.push_back(alu_intrinsic(acc, row, Operand::vector_and_parameter));
    }
  }
  return table;
}

}  // namespace dovetail::accel
