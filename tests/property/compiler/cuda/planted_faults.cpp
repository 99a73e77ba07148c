// Faults planted in kernels of products, one at a time: barriers, waits, slots of rings, predicates, bounds, copies.
// run_threads detects each with any seed.
#include <array>
#include <functional>
#include <string>

#include "loops/rewrite.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using dovetail::test::Change;

namespace {

using loops::Core, loops::CoreAsyncCopy, loops::CoreAsyncGroup, loops::CoreBarrier, loops::CoreIf, loops::CoreLoop,
    loops::CoreSequence, loops::CoreStore, loops::Expr;
using Step = CoreAsyncGroup::Step;

template <typename T>
const T* as(const Core& core) {
  return core ? std::get_if<T>(&core->node) : nullptr;
}

// The statements of that kind, in order: `edit` changes the one with that number (null: removes it); -1: all of them.
template <typename T>
Change of_kind(int number, std::function<Core(T)> edit) {
  return [at = 0, number, edit = std::move(edit)](const Core& core) mutable -> Core {
    const T* node = as<T>(core);
    if (node == nullptr) return core;
    return number < 0 || at++ == number ? edit(*node) : core;
  };
}
Change group(Step step, int number, const std::function<Core(CoreAsyncGroup)>& edit) {
  return [at = 0, step, number, edit](const Core& core) mutable -> Core {
    const auto* node = as<CoreAsyncGroup>(core);
    if (node == nullptr || node->step != step) return core;
    return number < 0 || at++ == number ? edit(*node) : core;
  };
}
// Every expression of that part of the program.
Change exprs_of_loops(const std::function<Expr(const Expr&)>& edit, const std::function<bool(const Core&)>& where) {
  return [edit, where](const Core& core) -> Core {
    if (!core || !where(core)) return core;
    const auto all = [&](std::vector<Expr>& list) {
      for (Expr& e : list) e = loops::rewrite_expr(e, edit);
    };
    if (const auto* copy = as<CoreAsyncCopy>(core)) {
      CoreAsyncCopy other = *copy;
      all(other.to_indices);
      return loops::make_core(std::move(other));
    }
    if (const auto* store = as<CoreStore>(core)) {
      CoreStore other = *store;
      for (loops::StoreTarget& target : other.targets) {
        all(target.indices);
        target.value = loops::rewrite_expr(target.value, edit);
      }
      return loops::make_core(std::move(other));
    }
    return core;
  };
}

// x % m of a ring's slot, changed to another one.
std::function<Expr(const Expr&)> place(std::int64_t more, std::int64_t modulus) {
  return [more, modulus](const Expr& e) -> Expr {
    const auto* n = std::get_if<loops::Binary>(&e->node);
    if (n == nullptr || n->op != loops::BinaryOp::floor_mod) return e;
    const auto* ring = std::get_if<loops::IntImm>(&n->b->node);
    if (ring == nullptr || ring->value != 3) return e;
    return loops::floor_mod(n->a + more, ring->value + modulus);
  };
}
bool is_copy(const Core& core) { return as<CoreAsyncCopy>(core) != nullptr; }
bool is_sum(const Core& core) {
  const auto* store = as<CoreStore>(core);
  return store != nullptr && store->block == "gemm" &&
         std::holds_alternative<loops::Binary>(store->targets[0].value->node);
}

Core moved(CoreAsyncCopy copy, std::int64_t from, std::int64_t to) {
  copy.from_indices.back() = copy.from_indices.back() + from;
  copy.to_indices.back() = copy.to_indices.back() + to;
  return loops::make_core(std::move(copy));
}

Core with_bound(const CoreIf& n, std::int64_t more) {
  const auto* less = std::get_if<loops::Binary>(&n.condition->node);
  if (less == nullptr || less->op != loops::BinaryOp::lt) return loops::make_core(n);
  CoreIf other = n;
  other.condition = loops::binary(less->op, less->a, less->b + more);
  return loops::make_core(std::move(other));
}

// Exchanges a barrier with the statement before it in its sequence.
Core barrier_earlier(const CoreSequence& n) {
  CoreSequence other = n;
  for (std::size_t i = 1; i < other.body.size(); ++i)
    if (as<CoreBarrier>(other.body[i]) != nullptr) {
      std::swap(other.body[i], other.body[i - 1]);
      break;
    }
  return loops::make_core(std::move(other));
}

Change serial_loops(int number, std::int64_t more) {
  return [at = 0, number, more](const Core& core) mutable -> Core {
    const auto* loop = as<CoreLoop>(core);
    if (loop == nullptr || loop->kind != loops::ForKind::serial || at++ != number) return core;
    CoreLoop other = *loop;
    other.extent += more;
    return loops::make_core(std::move(other));
  };
}

struct Fault {
  const char* what;
  std::function<Change()> change;
};

loops::ThreadProgram planted(const Case& one, const Fault& fault) {
  loops::ThreadProgram kernels = one.scheduled.kernels;
  kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, fault.change());
  return kernels;
}

bool is_found(const Case& one, const loops::ThreadProgram& kernels, std::uint64_t seed) {
  const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
  return !have.ok() || *have != *one.expected;
}

void check_found(const Case& one, const std::vector<Fault>& faults) {
  REQUIRE(one.scheduled.kind == "matrix_product");
  INFO(loops::to_string(one.scheduled.kernels));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CHECK(!is_found(one, one.scheduled.kernels, seed));
    for (const Fault& fault : faults) {
      INFO(fault.what << ", seed " << seed);
      const loops::ThreadProgram kernels = planted(one, fault);
      CHECK(loops::to_string(kernels) != loops::to_string(one.scheduled.kernels));
      CHECK(is_found(one, kernels, seed));
    }
  }
}

schedule::Decisions tiles(const char* stages) {
  return {{"sum_rows", "4"},           {"sum_columns", "4"}, {"rows_of_threads", "8"},
          {"columns_of_threads", "8"}, {"tile_depth", "16"}, {"stages", stages}};
}

const Fault kNoBarrier{"a barrier removed",
                       [] { return of_kind<CoreBarrier>(0, [](CoreBarrier) -> Core { return nullptr; }); }};

}  // namespace

TEST_CASE("cuda: faults planted in pipelines of asynchronous copies are found by run_threads") {
  // Three stages; rows beyond the last one are zeros.
  const Case one = layer_case(layer(37, 45, 64, DType::float32, true), decided(tiles("3")), 1);
  check_found(
      one,
      {kNoBarrier,
       {"the barrier before the wait", [] { return of_kind<CoreSequence>(-1, barrier_earlier); }},
       {"a wait removed", [] { return group(Step::wait, 0, [](CoreAsyncGroup) -> Core { return nullptr; }); }},
       {"a wait for one group too few",
        [] { return group(Step::wait, 0, [](CoreAsyncGroup n) { return ++n.groups, loops::make_core(n); }); }},
       {"the first pieces in one group",
        [] { return group(Step::commit, 0, [](CoreAsyncGroup) -> Core { return nullptr; }); }},
       {"the second piece is not committed",
        [] { return group(Step::commit, 1, [](CoreAsyncGroup) -> Core { return nullptr; }); }},
       {"later pieces are not committed",
        [] { return group(Step::commit, 2, [](CoreAsyncGroup) -> Core { return nullptr; }); }},
       {"copies into the next place", [] { return exprs_of_loops(place(1, 0), is_copy); }},
       {"copies into the place before", [] { return exprs_of_loops(place(-1, 0), is_copy); }},
       {"sums of the next place", [] { return exprs_of_loops(place(1, 0), is_sum); }},
       {"copies into a ring of one place fewer", [] { return exprs_of_loops(place(0, -1), is_copy); }},
       {"sums of a ring of one place fewer", [] { return exprs_of_loops(place(0, -1), is_sum); }},
       {"both rings of one place fewer",
        [] { return exprs_of_loops(place(0, -1), [](const Core& core) { return is_copy(core) || is_sum(core); }); }},
       {"a first piece is not fetched",
        [] { return of_kind<CoreAsyncCopy>(0, [](CoreAsyncCopy) -> Core { return nullptr; }); }},
       {"a piece too many", [] { return of_kind<CoreIf>(0, [](const CoreIf& n) { return with_bound(n, 1); }); }},
       {"a piece too few", [] { return of_kind<CoreIf>(0, [](const CoreIf& n) { return with_bound(n, -1); }); }},
       {"a predicate missing",
        [] {
          return of_kind<CoreAsyncCopy>(-1, [](CoreAsyncCopy n) { return n.condition = nullptr, loops::make_core(n); });
        }},
       {"a predicate that lets a row too many in",
        [] {
          return of_kind<CoreAsyncCopy>(-1, [](CoreAsyncCopy n) -> Core {
            if (n.condition) {
              const auto& less = std::get<loops::Binary>(n.condition->node);
              n.condition = loops::binary(less.op, less.a, less.b + 1);
            }
            return loops::make_core(n);
          });
        }},
       {"copies of half as much",
        [] {
          return of_kind<CoreAsyncCopy>(-1, [](CoreAsyncCopy n) { return n.elements /= 2, loops::make_core(n); });
        }},
       {"copies from the next element",
        [] { return of_kind<CoreAsyncCopy>(-1, [](CoreAsyncCopy n) { return moved(n, 1, 0); }); }},
       {"copies to the next element",
        [] { return of_kind<CoreAsyncCopy>(1, [](CoreAsyncCopy n) { return moved(n, 0, 1); }); }},
       {"a round of the depth too few", [] { return serial_loops(0, -1); }},
       {"a round of the depth too many", [] { return serial_loops(0, 1); }},
       {"sums do not start", [] { return of_kind<CoreStore>(0, [](const CoreStore&) -> Core { return nullptr; }); }}});
  // A kernel with another number of threads.
  for (const int more : {-1, 1}) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    kernels.kernels[0].axes.back().extent += more;
    CHECK(is_found(one, kernels, 1));
  }
}

TEST_CASE("cuda: faults planted in pieces that threads keep in registers are found by run_threads") {
  // Rows of 51 halves: none of them starts at a multiple of four bytes.
  const Case one = layer_case(layer(37, 45, 51, DType::float16, true), decided(tiles("2")), 1);
  const auto is_next = [](const Core& core) {
    const auto* store = as<CoreStore>(core);
    return store != nullptr && store->targets[0].buffer->name.ends_with(".next");
  };
  const auto unguarded = [](const Expr& e) {
    const auto* n = std::get_if<loops::Select>(&e->node);
    return n != nullptr ? n->if_true : e;
  };
  check_found(one, {kNoBarrier,
                    {"a piece is not kept",
                     [&] { return [&](const Core& core) -> Core { return is_next(core) ? nullptr : core; }; }},
                    {"loads without their predicates", [&] { return exprs_of_loops(unguarded, is_next); }},
                    {"a piece too few to fetch",
                     [] { return of_kind<CoreIf>(0, [](const CoreIf& n) { return with_bound(n, -1); }); }},
                    {"a piece too few to store",
                     [] { return of_kind<CoreIf>(1, [](const CoreIf& n) { return with_bound(n, -1); }); }},
                    {"results without their predicates",
                     [] { return of_kind<CoreIf>(2, [](const CoreIf& n) { return n.then_body; }); }}});
  // Moves the values that each thread keeps into shared memory.
  loops::ThreadProgram kernels = one.scheduled.kernels;
  loops::ThreadKernel& kernel = kernels.kernels[0];
  for (std::size_t i = 0; i < kernel.local.size(); ++i)
    if (kernel.local[i]->name.ends_with(".next")) {
      kernel.shared.push_back(kernel.local[i]);
      kernel.local.erase(kernel.local.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  CHECK(is_found(one, kernels, 1));
}

TEST_CASE("cuda: faults planted in copies of a ragged depth are found by run_threads") {
  const Case one = layer_case(layer(37, 45, 50, DType::float32, false), decided(tiles("2")), 1);
  check_found(one,
              {kNoBarrier,
               {"a wait removed", [] { return group(Step::wait, 0, [](CoreAsyncGroup) -> Core { return nullptr; }); }},
               {"a predicate missing",
                [] {
                  return of_kind<CoreAsyncCopy>(
                      -1, [](CoreAsyncCopy n) { return n.condition = nullptr, loops::make_core(n); });
                }},
               {"what is outside is not filled", [] {
                  return [](const Core& core) -> Core {
                    const auto* condition = as<CoreIf>(core);
                    return condition != nullptr && as<CoreAsyncCopy>(condition->then_body) != nullptr
                               ? loops::core_if(condition->condition, condition->then_body)
                               : core;
                  };
                }}});
}
