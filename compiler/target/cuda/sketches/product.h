// Shared by the sketches of products: finding the product, and staging its operands in shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "compiler/schedule/context.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/cuda/intrinsics.h"

namespace dovetail::cuda {

// What a thread copies at once, in bytes.
inline constexpr std::int64_t kVectorBytes = 16;

// A contraction in the form that matrix_form gives it.
struct Product {
  std::string block;
  std::int64_t batch, rows, columns, depth;
  struct Operand {
    DType stored;     // in memory
    bool plain;       // read directly, without gathering patches
    bool depth_last;  // the depth is contiguous in memory
    std::size_t batch_dimensions;
    bool moved = false;    // elements of memory, or zeros in place of some: nothing is computed on the way
    bool gathers = false;  // patches: an index is not an iterator
    bool aligned = false;  // consists of pieces of kVectorBytes that are contiguous in memory
    // Threads copy it in such pieces without holding them: along the depth, or as it is stored.
    bool is_copied() const { return moved && (plain || (aligned && depth_last)); }
  } left, right;
  DType type;                         // type of the products and of their sum
  bool free_order;                    // products may be added in any order, each fused with its addition
  std::string deep_loop;              // the loop over the depth with the most iterations, the outermost of equal ones
  std::int64_t deep_extent, results;  // extent of that loop; number of results
  std::int64_t prepared_first = 0;    // elements of its operands that a kernel before it prepares
};
// The product that the block computes; nullopt: not a contraction.
std::optional<Product> product_of(const schedule::Context& c, const std::string& name);
// The first contraction that is worth tiling.
std::optional<Product> find_product(const schedule::Context& c);

// The numbers of parts into which the depth may be split over blocks: 1 first.
std::vector<std::int64_t> parts_of_depth(const Product& whole);
// Workers per processor that iterate over the pieces of all tiles; 0 first: each tile has its own blocks.
std::vector<std::int64_t> streams_of(const Product& whole, std::int64_t parts);
// One of this many parts: a product with an additional batch dimension.
Product part_of(Product whole, std::int64_t parts);

// How blocks share a product: by tiles of the result, with the whole depth or parts of it (split-K); or by workers,
// each with the same number of pieces of the depth, regardless of tile boundaries (stream-K).
struct Distribution {
  std::int64_t parts = 1, stream = 0;  // stream: workers per processor
};
// The work of the processor with the most work.
struct Share {
  double pieces;   // pieces of the depth of tiles
  double starts;   // how often it waits for a first piece
  double at_once;  // most concurrent blocks
  double joining;  // additional cycles: partial sums are written, and a second kernel adds them up
};
// `rows`, `columns`, `depth`: of a tile, and a piece of the depth. nullopt: such a distribution is useless.
std::optional<Share> share_of(const Product& whole, const Distribution& distribution, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth, std::int64_t stages, std::int64_t processors);
// Splits the depth into that many parts, whose sums are added in order by a second kernel; returns the product of a
// part.
std::optional<Product> split_depth(schedule::Context& c, const Product& whole, std::int64_t parts);
// Distributes the product over workers, whose partial tiles are added in the order of the depth by a second kernel.
// Returns the workers' product, with one tile; its operands, sums and results have the names that matrix_form gives,
// and its parts `.part`. With fewer tiles than workers, it has no results. Those of the `following` blocks that can be
// computed where a result is stored are moved there.
std::optional<Product> stream_depth(schedule::Context& c, const Product& whole, std::int64_t stream, std::int64_t rows,
                                    std::int64_t columns, std::int64_t depth, std::int64_t processors,
                                    std::span<const std::string> following);

// The tensor core instruction that multiplies such factors, if all architectures have it and the user allows its
// rounding.
std::optional<MatrixMultiply> allowed_instruction(const Gpu& gpu, DType left, DType right, DType sum);

inline std::int64_t pieces(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Splits an existing loop: both parts remain, even with one iteration. Returns their names.
std::pair<std::string, std::string> split_loop(schedule::Context& c, const std::string& loop, std::int64_t factor);

// Axes of a block's threads, thread.x first.
struct ThreadAxis {
  std::string_view axis;
  std::int64_t extent;
};
// Distributes the copying of `operand`, a block over one piece of it, over all threads of a block: neighbors in memory
// on neighboring threads, and if they divide evenly, several per thread: `vector_bytes` of a plain operand.
// A smaller value also applies to other operands, of which a thread has kVector otherwise.
void fetch_together(schedule::Context& c, const std::string& operand, bool plain, std::span<const ThreadAxis> threads,
                    std::int64_t vector_bytes = kVectorBytes);

// Fewer rows would leave too much of an instruction of four warps unused.
inline constexpr std::int64_t kFewestGroupRows = 32;

// Whether this many elements of an operand can be staged in shared memory together: the copy's bounds can be proven,
// the elements divide evenly, and with prefetching a thread can keep its part in registers if necessary.
bool can_fetch(const Product::Operand& operand, std::int64_t elements, std::int64_t threads, std::int64_t stages,
               std::int64_t most_elements = 4096);
// Shared memory of a block for this many pieces of both operands, in bytes, as laid out by lower(): a copy has its
// operand's layout, with rows padded by kBankBytes.
std::int64_t shared_bytes(const Product::Operand& left, std::int64_t rows, const Product::Operand& right,
                          std::int64_t columns, std::int64_t depth, std::int64_t stages);
// Elements that a thread reads at once if they are contiguous in shared memory or in patches.
inline constexpr std::int64_t kVector = 4;

}  // namespace dovetail::cuda
