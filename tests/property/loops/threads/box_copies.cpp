// Which fetches are copies of a box: for random nests over threads and own loops, those that as_box_copy accepts move
// the same elements as the box, one by one, with zeros where the tensor ends; other nests are refused.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "loops/rewrite.h"
#include "loops/threads/box_copies.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

using Values = std::map<const VarNode*, std::int64_t>;

std::int64_t value_of(const Expr& expr, const Values& values) {
  const auto found = loops::evaluate(expr, values);
  REQUIRE(found);
  return *found;
}

// Rows and columns of a piece, counted by loops in some order, fetched from a corner of a tensor that depends on the
// block and the iteration.
struct Fetch {
  std::int64_t rows = 8, columns = 16;
  std::int64_t tensor_rows = 0, tensor_columns = 0;
  bool batched = false, merged = false;  // a leading dimension; rows that are two dimensions of the buffer
  bool guarded = true;                   // zero where the tensor ends
  // Possible faults.
  std::int64_t guard_less = 0;  // of columns
  bool turned = false, gap = false, twice = false, other_zero = false, conditional = false;

  Var piece = make_var("piece"), block = make_var("block");
  Bounds bounds;
  std::vector<CoreLoop> loops;
  Core core;

  void build(SplitMix64& random) {
    bounds[piece.get()] = {0, 3};
    bounds[block.get()] = {0, 3};
    // Elements are numbered row by row; each loop counts a digit of the number.
    std::int64_t rest = rows * columns;
    std::vector<CoreLoop> digits;
    Expr number = int_imm(0);
    for (std::int64_t stride = 1; rest > 1;) {
      std::int64_t extent = std::int64_t{2} << random.next() % 3;
      while (rest % extent != 0) extent = extent > 2 ? extent / 2 : rest;
      const Var var = make_var(fmt::format("v{}", digits.size()));
      const bool thread = random.next() % 2 == 0;
      digits.push_back(
          {var, extent, thread ? ForKind::thread : ForKind::serial, thread ? "thread.x" : "", {}, nullptr});
      bounds[var.get()] = {0, extent - 1};
      if (!(gap && digits.size() == 1)) number = number + ref(var) * stride;
      stride *= extent;
      rest /= extent;
    }
    loops = digits;
    for (std::size_t i = digits.size(); i > 1; --i) std::swap(digits[i - 1], digits[random.next() % i]);
    const Expr row = simplify(floor_div(number, columns), bounds),
               column = simplify(floor_mod(number, columns), bounds);
    const Buffer to = make_buffer("to", DType::float16, {3, rows, columns}, "shared");
    const Expr y = row + ref(block) * rows, x = column + ref(piece) * columns;
    Shape shape;
    std::vector<Expr> from;
    const auto add = [&](std::int64_t extent, Expr index) {
      shape.push_back(extent);
      from.push_back(simplify(index, bounds));
    };
    if (batched) add(4, ref(piece));
    if (merged) {
      add(tensor_rows / 2, floor_div(turned ? x : y, 2));
      add(2, floor_mod(turned ? x : y, 2));
    } else {
      add(tensor_rows, turned ? x : y);
    }
    add(tensor_columns, turned ? y : x);
    const Buffer tensor = make_buffer("from", DType::float16, shape);
    Expr value = load(tensor, from);
    if (guarded) {
      const Expr inside = logical_and(binary(BinaryOp::lt, turned ? x : y, int_imm(tensor_rows)),
                                      binary(BinaryOp::lt, turned ? y : x, int_imm(tensor_columns - guard_less)));
      const Expr decided = simplify(inside, bounds);
      if (!std::holds_alternative<IntImm>(decided->node))
        value = select(decided, value, float_imm(other_zero ? -0.0 : 0.0, DType::float16));
    }
    const Expr into = twice ? floor_div(row, 2) : row;
    core = make_core(CoreStore{{{to, {floor_mod(ref(piece), 3), into, column}, value}}, "fetch", {}, false});
    if (conditional) core = make_core(CoreIf{binary(BinaryOp::lt, row, int_imm(rows - 1)), core, nullptr});
    for (CoreLoop& loop : digits) {
      loop.body = core;
      core = make_core(loop);
    }
  }

  std::optional<CoreBoxCopy> box() const {
    const auto chain = Chain::of(core);
    REQUIRE(chain);
    return as_box_copy(*chain, bounds, {});
  }

  // Compares element by element, for one block and one piece.
  void compare(const CoreBoxCopy& box, std::int64_t of_block, std::int64_t of_piece) const {
    const auto chain = Chain::of(core);
    const StoreTarget& target = chain->store->targets[0];
    const auto moved = Moved::of(target.value);
    Values values{{block.get(), of_block}, {piece.get(), of_piece}};
    const auto offset = [&](const Shape& shape, const std::vector<std::int64_t>& index) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
      return at;
    };
    std::map<std::int64_t, std::int64_t> expected;  // -1: a zero
    for (std::int64_t number = 0; number < rows * columns; ++number) {
      std::int64_t rest = number;
      for (const CoreLoop& loop : loops) values[loop.var.get()] = rest % loop.extent, rest /= loop.extent;
      std::vector<std::int64_t> to, from;
      for (const Expr& index : target.indices) to.push_back(value_of(index, values));
      for (const Expr& index : moved->load->indices) from.push_back(value_of(index, values));
      const bool inside = !moved->condition || value_of(moved->condition, values) != 0;
      expected[offset(target.buffer->shape, to)] = inside ? offset(moved->load->buffer->shape, from) : -1;
    }
    std::vector<std::int64_t> first, corner, place(box.box.size(), 0);
    for (const Expr& index : box.to_indices) first.push_back(value_of(index, values));
    for (const Expr& index : box.from_indices) corner.push_back(value_of(index, values));
    std::map<std::int64_t, std::int64_t> have;
    for (std::int64_t number = 0; number < element_count(box.box); ++number) {
      bool inside = true;
      std::vector<std::int64_t> index;
      for (std::size_t d = 0; d < place.size(); ++d) {
        index.push_back(corner[d] + place[d]);
        inside &= index[d] >= 0 && index[d] < box.tensor[d];
      }
      have[offset(target.buffer->shape, first) + number] = inside ? offset(box.tensor, index) : -1;
      for (std::size_t d = place.size(); d-- > 0;) {
        if (++place[d] < box.box[d]) break;
        place[d] = 0;
      }
    }
    CHECK(have == expected);
  }
};

Fetch random_fetch(SplitMix64& random) {
  Fetch fetch;
  fetch.rows = std::int64_t{8} << random.next() % 3;
  fetch.columns = std::int64_t{8} << random.next() % 4;
  fetch.batched = random.next() % 3 == 0;
  fetch.merged = random.next() % 3 == 0;
  fetch.guarded = random.next() % 4 != 0;
  // Four blocks and four pieces; fewer where the fetch is guarded.
  const auto less = [&](std::int64_t of) {
    return fetch.guarded ? static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(of / 8)) * 8 : 0;
  };
  fetch.tensor_rows = 4 * fetch.rows - less(fetch.rows) - (fetch.guarded && !fetch.merged ? 1 : 0);
  fetch.tensor_columns = 4 * fetch.columns - less(fetch.columns);
  return fetch;
}

}  // namespace

TEST_CASE("threads: the fetch of a tile is the copy of a box, element by element") {
  std::size_t taken = 0;
  constexpr std::uint64_t kFetches = 60;
  for (std::uint64_t seed = 0; seed < kFetches; ++seed) {
    SplitMix64 random(seed);
    Fetch fetch = random_fetch(random);
    fetch.build(random);
    INFO("seed " << seed << "\n" << to_string(fetch.core));
    const auto box = fetch.box();
    if (!box) continue;
    ++taken;
    fetch.compare(*box, static_cast<std::int64_t>(random.next() % 4), static_cast<std::int64_t>(random.next() % 4));
    CHECK(bytes_of_box(*box) == fetch.rows * fetch.columns * 2);
  }
  CHECK(taken == kFetches);
}

TEST_CASE("threads: a fetch that is not the copy of a box is left to the threads") {
  const auto is_taken = [](const std::function<void(Fetch&)>& change) {
    std::size_t taken = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SplitMix64 random(seed);
      Fetch fetch;
      fetch.rows = 16, fetch.columns = 32;
      fetch.tensor_rows = 60, fetch.tensor_columns = 120;
      change(fetch);
      fetch.build(random);
      taken += fetch.box().has_value() ? 1 : 0;
    }
    CHECK((taken == 0 || taken == 20));
    return taken > 0;
  };
  CHECK(is_taken([](Fetch&) {}));
  CHECK(!is_taken([](Fetch& f) { f.guard_less = 8; }));        // zeros before the tensor ends
  CHECK(!is_taken([](Fetch& f) { f.other_zero = true; }));     // -0
  CHECK(!is_taken([](Fetch& f) { f.conditional = true; }));    // not all of the buffer
  CHECK(!is_taken([](Fetch& f) { f.twice = true; }));          // elements twice
  CHECK(!is_taken([](Fetch& f) { f.gap = true; }));            // elements left out
  CHECK(!is_taken([](Fetch& f) { f.tensor_columns = 121; }));  // rows at no multiple of 16 bytes
  CHECK(!is_taken([](Fetch& f) {
    f.turned = true, f.rows = 32;
    f.tensor_rows = 120;
  }));  // rows side by side
}
