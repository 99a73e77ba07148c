// The kinds of groups that the CUDA back end knows, in the order in which they are tried; each with the sketch that
// writes their schedules.
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

// A softmax that weighs the rows of a matrix: one kernel, which has pieces of the scores alone.
bool sketch_attention(schedule::Context& c, const Gpu& gpu);
// Few results of many elements each, and rows that are normalized by what their elements have in common: threads join
// what they have of a row.
bool sketch_reduction(schedule::Context& c, const Gpu& gpu);
// A product of matrices, or what has the form of one: tiles of it, through shared memory and in registers.
bool sketch_group_product(schedule::Context& c, const Gpu& gpu);   // by tensor cores, of four warps together
bool sketch_tensor_product(schedule::Context& c, const Gpu& gpu);  // of one warp
bool sketch_matrix_product(schedule::Context& c, const Gpu& gpu);
// Anything: each block's points, one a thread.
bool sketch_generic(schedule::Context& c, const Gpu& gpu);

struct Kind {
  std::string_view name;
  int version;  // of the sketch (compiler/schedule/sketch.h)
  bool (*write)(schedule::Context& context, const Gpu& gpu);
};
inline constexpr std::array<Kind, 6> kKinds{{
    {"attention", 1, sketch_attention},
    {"reduction", 1, sketch_reduction},
    {"group_product", 3, sketch_group_product},
    {"tensor_product", 5, sketch_tensor_product},
    {"matrix_product", 5, sketch_matrix_product},
    {"generic", 2, sketch_generic},
}};

// The fact of a task that says whether sums of floating numbers may be added up in any order.
inline constexpr const char* kFreeSums = "free_sums";

schedule::Sketch sketch_of(const Kind& kind, const Gpu& gpu);

// ---- What several sketches do

// More than a few operations.
bool is_costly(const loops::Block& block);
// Blocks that read what `block` writes.
std::vector<std::string> readers_of(const schedule::Context& c, const std::string& block);
// Blocks without a sum that one block reads, or that cost little, are computed where they are read.
void inline_elementwise(schedule::Context& c);
// Whether parts of what the block reduces may be joined: in any order, or of floating sums where their order is free.
bool may_be_joined(const schedule::Context& c, const loops::Block& block);
// Each point of a block that no thread has yet becomes a thread's.
void schedule_points(schedule::Context& c);
// Loops of a block's nest that become blocks, and threads of a block with their axes.
struct Points {
  std::vector<std::string> blocks;                                // outermost first
  std::vector<std::pair<std::string, std::string_view>> threads;  // innermost first
  std::string innermost() const;                                  // of all these
};
// Splits `spatial` loops, the innermost first, so that up to `threads` neighboring points are of one block, and puts
// blocks around threads around the loops `inside`. Neighbors in memory are neighbors on thread.x. nullopt: there is
// nothing to share, or it cannot be shown that the loops may be reordered.
std::optional<Points> share_points(schedule::Context& c, const std::vector<std::string>& spatial,
                                   const std::vector<std::string>& inside, std::int64_t threads);
// False where a loop cannot be bound.
bool bind_points(schedule::Context& c, const Points& points);

}  // namespace dovetail::cuda
