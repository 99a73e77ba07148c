// A data-dependent index into a buffer without elements: the run ends with a diagnostic, whatever kind the surrounding
// loop has.
#include "base/processor.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/tensor/tensor.h"
#include "loops/interpreter.h"
#include "loops/rewrite.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

// y[i] = x[index[i]], or only the store y[index[i]] = x[i].
Program look_up(DType dtype, bool scatter, ForKind kind) {
  tensor::Definition definition("look_up");
  const Buffer index = definition.input("index", DType::int64, {8});
  const Buffer x = definition.input("x", dtype, {scatter ? 8 : 0}), y = make_buffer("y", dtype, {scatter ? 0 : 8});
  const Var loop = make_var("l"), i = make_var("i");
  const Expr chosen = load(index, {ref(i)});
  Block block{"b", {{i, 8, IterKind::spatial, ref(loop)}}, nullptr, {}, {}, nullptr, nullptr, {}};
  block.body = scatter ? store(y, {chosen}, load(x, {ref(i)})) : store(y, {ref(i)}, load(x, {chosen}));
  block.reads = {{index, {{ref(i), 1}}}};
  const Region of_x{x, {scatter ? RangeExpr{ref(i), 1} : RangeExpr{int_imm(0), 0}}};
  block.reads.push_back(of_x);
  block.writes = {{y, {scatter ? RangeExpr{int_imm(0), 0} : RangeExpr{ref(i), 1}}}};
  definition.statement(make_stmt(For{loop, 8, kind, "", {}, make_stmt(std::move(block))}), {y});
  return definition.build({y});
}

}  // namespace

TEST_CASE("an index into a buffer without elements is a diagnostic") {
  for (const DType dtype : {DType::float32, DType::int8, DType::boolean})
    for (const bool scatter : {false, true})
      for (const ForKind kind : {ForKind::serial, ForKind::vectorized, ForKind::parallel}) {
        const Program program = look_up(dtype, scatter, kind);
        const std::vector<NdArray> arguments{NdArray(DType::int64, {8}), NdArray(dtype, {scatter ? 8 : 0})};
        CHECK_FALSE(evaluate(program, arguments).ok());
        for (const cpu::Cpu& processor : cpu::cpus()) {
          if (!runs_here(processor.name)) continue;
          const auto code = cpu::JitProgram::make(program, {}, processor, 2);
          REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
          const auto result = code->run(arguments);
          REQUIRE_FALSE(result.ok());
          CHECK(result.errors().front().why.find("is outside 0 <= index < 0") != std::string::npos);
        }
      }
}
