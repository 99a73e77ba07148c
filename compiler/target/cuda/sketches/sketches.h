// The kinds of groups that the CUDA back end supports, in the order in which they are tried; each with its sketch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cuda/gpu.h"

namespace dovetail::cuda {

// A softmax that weights the rows of a matrix: one kernel, which stores only tiles of the scores.
bool sketch_attention(schedule::Context& c, const Gpu& gpu);
// Few results of many elements each, and rows that are normalized by a reduction of their elements: threads combine
// their partial results of a row.
bool sketch_reduction(schedule::Context& c, const Gpu& gpu);
// A product of matrices, or an operation of that form: tiled, through shared memory and in registers.
bool sketch_group_product(schedule::Context& c, const Gpu& gpu);   // with tensor cores, four warps together
bool sketch_tensor_product(schedule::Context& c, const Gpu& gpu);  // with tensor cores, one warp
bool sketch_matrix_product(schedule::Context& c, const Gpu& gpu);
// Anything: one thread per point of each block.
bool sketch_generic(schedule::Context& c, const Gpu& gpu);

struct Kind {
  std::string_view name;
  int version;  // of the sketch (compiler/schedule/sketch.h)
  bool (*write)(schedule::Context& context, const Gpu& gpu);
};
inline constexpr std::array<Kind, 6> kKinds{{
    {"attention", 1, sketch_attention},
    {"reduction", 1, sketch_reduction},
    {"group_product", 4, sketch_group_product},
    {"tensor_product", 5, sketch_tensor_product},
    {"matrix_product", 5, sketch_matrix_product},
    {"generic", 2, sketch_generic},
}};

// The fact of a task that says whether floating-point sums may be added in any order.
inline constexpr const char* kFreeSums = "free_sums";

schedule::Sketch sketch_of(const Kind& kind, const Gpu& gpu);

// ---- Shared by several sketches

// Whether the block has more than a few operations.
bool is_costly(const loops::Block& block);
// Blocks that read the results of `block`.
std::vector<std::string> readers_of(const schedule::Context& c, const std::string& block);
// Inlines blocks without a reduction that have one reader, or that are cheap, except those in `kept`.
void inline_elementwise(schedule::Context& c, const std::vector<std::string>& kept = {});
// Whether partial results of the block's reduction may be combined: any order is allowed, or it is a floating-point sum
// with free order.
bool may_be_joined(const schedule::Context& c, const loops::Block& block);
// Assigns each point of a block without threads to a thread.
void schedule_points(schedule::Context& c);
// Loops of a block's nest that become blocks, and those that become threads, with their axes.
struct Points {
  std::vector<std::string> blocks;                                // outermost first
  std::vector<std::pair<std::string, std::string_view>> threads;  // innermost first
  std::string innermost() const;                                  // the innermost of these
};
// Splits `spatial` loops, the innermost first, so that up to `threads` neighboring points are in one block, and puts
// blocks around threads around the loops `inside`. Neighbors in memory are neighbors on thread.x. nullopt: there is
// nothing to distribute, or it cannot be proven that the loops may be reordered.
std::optional<Points> share_points(schedule::Context& c, const std::vector<std::string>& spatial,
                                   const std::vector<std::string>& inside, std::int64_t threads);
// False if a loop cannot be bound.
bool bind_points(schedule::Context& c, const Points& points);

}  // namespace dovetail::cuda
