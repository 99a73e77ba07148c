// What the sketches of products share: which block is one, and how its operands come to shared memory.
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

// A contraction as the machine sees it, in the form that matrix_form gives it.
struct Product {
  std::string block;
  std::int64_t batch, rows, columns, depth;
  struct Operand {
    DType stored;     // in memory
    bool plain;       // it is read as it is stored, no patches are gathered
    bool depth_last;  // neighbors in memory are neighbors in the depth
    std::size_t batch_dimensions;
  } left, right;
  DType type;                         // of the products, and of their sum
  bool free_order;                    // products may be added in any order, each rounded with its sum
  std::string deep_loop;              // the outermost loop over the depth that has several iterations
  std::int64_t deep_extent, results;  // of that loop; of the whole product
};
// What the block is; nullopt: no contraction.
std::optional<Product> product_of(const schedule::Context& c, const std::string& name);
// The first contraction that has something to share.
std::optional<Product> find_product(const schedule::Context& c);

// Into how many parts the depth may be split for their own blocks: 1 first.
std::vector<std::int64_t> parts_of_depth(const Product& whole);
// Workers that go over the pieces of all tiles, so many for each processor; 0 first: each tile has its own blocks.
std::vector<std::int64_t> streams_of(const Product& whole, std::int64_t parts);
// What each of so many parts is: a product with one dimension of the batch more.
Product part_of(Product whole, std::int64_t parts);

// How blocks share a product: tiles of the result, each of the whole depth, or of parts of it (split-K); or workers,
// each with as many pieces of the depth as another one, wherever tiles begin and end (stream-K).
struct Distribution {
  std::int64_t parts = 1, stream = 0;  // stream: workers of each processor
};
// What the processor that has the most to do does.
struct Share {
  double pieces;   // of the depth, of tiles
  double starts;   // how often it waits for a first piece
  double at_once;  // blocks, at most
  double joining;  // cycles alongside: each sum is written, and a second kernel adds them up
};
// `rows`, `columns`, `depth`: of a tile, and a piece of the depth. nullopt: such a distribution has no use.
std::optional<Share> share_of(const Product& whole, const Distribution& distribution, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth, std::int64_t stages, std::int64_t processors);
// Takes the depth into that many parts, whose sums are added up in their order by a second kernel; the part's product.
std::optional<Product> split_depth(schedule::Context& c, const Product& whole, std::int64_t parts);
// Takes the product into workers, whose parts of tiles are added up in the order of the depth by a second kernel; the
// workers' product, which has one tile, its operands, sums and results called as matrix_form calls those of one, and
// its parts `.part`. Where there are fewer tiles than workers it has no results. Of the blocks `after`, what can be
// computed where a result is stored is.
std::optional<Product> stream_depth(schedule::Context& c, const Product& whole, std::int64_t stream, std::int64_t rows,
                                    std::int64_t columns, std::int64_t depth, std::int64_t processors,
                                    std::span<const std::string> behind);

// The instruction of tensor cores that multiplies such factors, as far as all architectures have it and the user
// allows what it rounds.
std::optional<MatrixMultiply> allowed_instruction(const Gpu& gpu, DType left, DType right, DType sum);

inline std::int64_t pieces(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Splits a loop that is there: both parts are, if of one iteration. Their names.
std::pair<std::string, std::string> split_loop(schedule::Context& c, const std::string& loop, std::int64_t factor);

// Axes of a block's threads, thread.x first.
struct ThreadAxis {
  std::string_view axis;
  std::int64_t extent;
};
// Gives the copying of `operand`, a block over one piece of it, to all threads of a block: neighbors in memory on
// neighboring threads, and as far as they come out even some on one: as many as are `vector_bytes` of a plain operand.
inline constexpr std::int64_t kVectorBytes = 16;
void fetch_together(schedule::Context& c, const std::string& operand, bool plain, std::span<const ThreadAxis> threads,
                    std::int64_t vector_bytes = kVectorBytes);

// Whether so many elements of an operand can come to shared memory together: what that fills can be shown, they come
// out even, and where pieces are fetched ahead a thread can keep its part in registers if it must.
bool can_fetch(const Product::Operand& operand, std::int64_t elements, std::int64_t threads, std::int64_t stages,
               std::int64_t most_elements = 4096);
// What so many pieces of both operands take of a block's shared memory, in bytes, as lower() lays them out: a copy is
// stored as its operand does, each row kBankBytes from the next.
std::int64_t shared_bytes(const Product::Operand& left, std::int64_t rows, const Product::Operand& right,
                          std::int64_t columns, std::int64_t depth, std::int64_t stages);
// Elements that a thread reads at once where they are neighbors of shared memory, or of patches.
inline constexpr std::int64_t kVector = 4;

}  // namespace dovetail::cuda
