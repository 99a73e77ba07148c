#include "compiler/target/cpu/intrinsics.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "loops/parse.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

Intrinsic row(std::string name, Program semantics, std::vector<std::string> scopes) {
  Intrinsic intrinsic;
  intrinsic.name = std::move(name);
  intrinsic.semantics = std::move(semantics);
  intrinsic.scopes = std::move(scopes);
  return intrinsic;
}

Intrinsic dot_product_row(const Cpu& cpu) {
  const DotProduct dot = dot_product(cpu);
  const std::string text = fmt::format(R"(program dot {{
    output D: int32[{0}]
    input X: {1}[{2}]
    input W: int8[{0}, {2}]
    for o in {0} {{
      for i in {2} {{
        block dot {{
          spatial vo in {0} = o
          reduce vi in {2} = i
          reads D[vo], X[vi], W[vo, vi]
          writes D[vo]
          D[vo] = D[vo] + int32(X[vi]) * int32(W[vo, vi])
        }}
      }}
    }}
  }})",
                                       cpu.lanes(4), name(dot.activations), dot.depth);
  const std::string name = dot_product_name(cpu);
  auto program = parse_program(text, name);
  DOVETAIL_CHECK(program.ok(), "must be a loop program: " + (program.ok() ? "" : to_string(program.errors())));
  return row(name, *std::move(program), {"", "", ""});
}

// ---- Tiles: one row per shape, so they are built as trees; parsing them would slow the first use.

struct Axis {
  std::string name;
  std::int64_t extent;
  IterKind kind = IterKind::spatial;
};

// A nest over the axes around one block; `body` builds its body from the block's iterators.
template <typename Body>
Stmt axes_nest(const std::string& name, const std::vector<Axis>& axes, const Body& body) {
  Block block;
  block.name = name;
  std::vector<Expr> at;
  std::vector<Var> loops;
  for (const Axis& axis : axes) {
    loops.push_back(make_var(axis.name));
    const Var iterator = make_var("v" + axis.name);
    block.iterators.push_back({iterator, axis.extent, axis.kind, ref(loops.back())});
    at.push_back(ref(iterator));
  }
  block.body = body(at);
  Stmt stmt = make_stmt(schedule::with_inferred_regions(std::move(block)));
  for (std::size_t i = axes.size(); i-- > 0;)
    stmt = make_stmt(For{loops[i], axes[i].extent, ForKind::serial, "", {}, std::move(stmt)});
  return stmt;
}

Program semantics_of(const TileIntrinsic& tile) {
  const Axis i{"i", tile.rows}, o{"o", kTileLanes}, k{"k", tile.quads}, b{"b", kDotBytes};
  const auto parameter = [](const char* name, DType dtype, Shape shape, ParameterRole role) {
    return Parameter{make_buffer(name, dtype, std::move(shape)), role};
  };
  const auto in = ParameterRole::input, out = ParameterRole::output;
  const Shape sums{tile.rows, kTileLanes}, bytes{tile.rows, tile.quads, kDotBytes};
  Program program;
  program.name = name(tile);
  switch (tile.operation) {
    case TileOperation::zero: {
      program.parameters = {parameter("D", DType::int32, sums, out)};
      const Buffer d = program.parameters[0].buffer;
      program.body = axes_nest("tilezero", {i, o},
                               [&](const std::vector<Expr>& at) { return store(d, at, int_imm(0, DType::int32)); });
      break;
    }
    case TileOperation::load: {
      program.parameters = {parameter("D", tile.bytes, bytes, out), parameter("M", tile.bytes, bytes, in)};
      const Buffer d = program.parameters[0].buffer, m = program.parameters[1].buffer;
      program.body =
          axes_nest("tileloadd", {i, k, b}, [&](const std::vector<Expr>& at) { return store(d, at, load(m, at)); });
      break;
    }
    case TileOperation::multiply: {
      program.parameters = {parameter("D", DType::int32, sums, out), parameter("A", tile.bytes, bytes, in),
                            parameter("B", DType::int8, {tile.quads, kTileLanes, kDotBytes}, in)};
      const Buffer d = program.parameters[0].buffer, x = program.parameters[1].buffer, w = program.parameters[2].buffer;
      const Axis sum_k{"k", tile.quads, IterKind::reduce}, sum_b{"b", kDotBytes, IterKind::reduce};
      program.body = axes_nest("tdpb", {i, o, sum_k, sum_b}, [&](const std::vector<Expr>& at) {
        return store(d, {at[0], at[1]},
                     load(d, {at[0], at[1]}) + cast(DType::int32, load(x, {at[0], at[2], at[3]})) *
                                                   cast(DType::int32, load(w, {at[2], at[1], at[3]})));
      });
      break;
    }
    case TileOperation::store: {
      program.parameters = {parameter("M", DType::int32, sums, out), parameter("A", DType::int32, sums, in)};
      const Buffer m = program.parameters[0].buffer, a = program.parameters[1].buffer;
      program.body =
          axes_nest("tilestored", {i, o}, [&](const std::vector<Expr>& at) { return store(m, at, load(a, at)); });
      break;
    }
  }
  return program;
}

std::vector<std::string> scopes_of(TileOperation operation) {
  switch (operation) {
    case TileOperation::zero: return {kTileScope};
    case TileOperation::load: return {kTileScope, ""};
    case TileOperation::multiply: return {kTileScope, kTileScope, kTileScope};
    case TileOperation::store: return {"", kTileScope};
  }
  throw InternalError("unknown operation on tiles");
}

std::vector<TileIntrinsic> all_tile_intrinsics() {
  std::vector<TileIntrinsic> all;
  for (std::int64_t rows = 1; rows <= kTileRows; ++rows) {
    all.push_back({TileOperation::zero, DType::int32, rows, kTileLanes});
    all.push_back({TileOperation::store, DType::int32, rows, kTileLanes});
    for (std::int64_t quads = 1; quads <= kTileRowBytes / kDotBytes; ++quads)
      for (const DType bytes : {DType::int8, DType::uint8})
        for (const TileOperation operation : {TileOperation::load, TileOperation::multiply})
          all.push_back({operation, bytes, rows, quads});
  }
  return all;
}

IntrinsicTable make_table(const Cpu& cpu) {
  if (cpu.vector_bytes == 0) return {};
  IntrinsicTable table{dot_product_row(cpu)};
  if (cpu.tile_registers == 0) return table;
  for (const TileIntrinsic& tile : all_tile_intrinsics())
    table.push_back(row(name(tile), semantics_of(tile), scopes_of(tile.operation)));
  return table;
}

}  // namespace

DotProduct dot_product(const Cpu& cpu) {
  return cpu.byte_dots ? DotProduct{DType::uint8, kDotBytes} : DotProduct{DType::int16, 2};
}

std::string dot_product_name(const Cpu& cpu) {
  if (cpu.architecture != Architecture::x86_64) return cpu.byte_dots ? "usdot" : "smlal2";
  if (!cpu.byte_dots) return fmt::format("x86.pmaddwd.{}", cpu.lanes(4));
  return cpu.vector_bytes == kWidestVectorBytes ? "x86.vpdpbusd" : "x86.vpdpbusd.ymm";
}

bool is_dot_product(std::string_view intrinsic) {
  const auto has = [&](const Cpu& cpu) { return cpu.vector_bytes > 0 && intrinsic == dot_product_name(cpu); };
  return std::ranges::any_of(cpus(), has) || std::ranges::any_of(other_cpus(), has);
}

std::string name(const TileIntrinsic& tile) {
  const bool is_unsigned = tile.bytes == DType::uint8;
  switch (tile.operation) {
    case TileOperation::zero: return fmt::format("x86.tilezero.{}", tile.rows);
    case TileOperation::load:
      return fmt::format("x86.tileloadd.{}.{}x{}", is_unsigned ? "u8" : "s8", tile.rows, tile.quads);
    case TileOperation::multiply:
      return fmt::format("x86.{}.{}x{}", is_unsigned ? "tdpbusd" : "tdpbssd", tile.rows, tile.quads);
    case TileOperation::store: return fmt::format("x86.tilestored.{}", tile.rows);
  }
  throw InternalError("unknown operation on tiles");
}

std::optional<TileIntrinsic> find_tile_intrinsic(std::string_view intrinsic) {
  static const std::map<std::string, TileIntrinsic, std::less<>> rows = [] {
    std::map<std::string, TileIntrinsic, std::less<>> map;
    for (const TileIntrinsic& tile : all_tile_intrinsics()) map.emplace(name(tile), tile);
    return map;
  }();
  const auto found = rows.find(intrinsic);
  return found == rows.end() ? std::nullopt : std::optional(found->second);
}

const IntrinsicTable& intrinsics(const Cpu& cpu) {
  if (cpu.tile_registers > 0) {
    static const IntrinsicTable tiles = make_table(cpu);
    return tiles;
  }
  static const auto tables = [] {
    std::map<std::string, IntrinsicTable> by_dot_product{{"", {}}};
    for (const auto& list : {cpus(), other_cpus()})
      for (const Cpu& one : list)
        if (one.tile_registers == 0 && one.vector_bytes > 0)
          by_dot_product.emplace(dot_product_name(one), make_table(one));
    return by_dot_product;
  }();
  return tables.at(cpu.vector_bytes > 0 ? dot_product_name(cpu) : "");
}

}  // namespace dovetail::cpu
