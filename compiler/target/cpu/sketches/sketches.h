// The kinds of groups that the CPU supports, in the order in which they are tried; each with its prepare step and its
// sketch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/schedule/context.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/prepare.h"
#include "compiler/target/cpu/sketches/register_tile.h"

namespace dovetail::cpu {

// Dense 2-D convolution of bytes in tile registers, if the processor has them and they pay off.
void prepare_tile_convolution(Preparation& p);
bool sketch_tile_convolution(schedule::Context& c, const Cpu& cpu);
// Convolution with few output channels, float32: pixels of a row in lanes.
void prepare_pixel_convolution(Preparation& p);
bool sketch_pixel_convolution(schedule::Context& c, const Cpu& cpu);
// Convolution in one to three dimensions, dense or in groups, float32 and int8: register tiles over pixels of one row
// and output channels.
void prepare_convolution(Preparation& p);
bool sketch_convolution(schedule::Context& c, const Cpu& cpu);
// Depthwise convolution and pooling: channels in lanes.
void prepare_window(Preparation& p);
bool sketch_window(schedule::Context& c, const Cpu& cpu);
// Matrix products of bytes in tile registers, if they pay off.
void prepare_tile_matmul(Preparation& p);
bool sketch_tile_matmul(schedule::Context& c, const Cpu& cpu);
// Products of few rows and packed weights (dovetail.packed_gemm): unpacked in registers.
void prepare_packed_product(Preparation& p);
bool sketch_packed_product(schedule::Context& c, const Cpu& cpu);
// Matrix products, float32 and int8.
void prepare_matmul(Preparation& p);
bool sketch_matmul(schedule::Context& c, const Cpu& cpu);
// Anything.
void prepare_generic(Preparation& p);
bool sketch_generic(schedule::Context& c, const Cpu& cpu);

struct Kind {
  std::string_view name;
  int version;  // of the sketch (compiler/schedule/sketch.h)
  void (*prepare)(Preparation& preparation);
  bool (*write)(schedule::Context& context, const Cpu& cpu);
};
inline constexpr std::array<Kind, 8> kKinds{{
    {"packed_product", 1, prepare_packed_product, sketch_packed_product},
    {"tile_convolution", 1, prepare_tile_convolution, sketch_tile_convolution},
    {"tile_matmul", 1, prepare_tile_matmul, sketch_tile_matmul},
    {"pixel_convolution", 1, prepare_pixel_convolution, sketch_pixel_convolution},
    {"convolution", 4, prepare_convolution, sketch_convolution},
    {"window", 2, prepare_window, sketch_window},
    {"matmul", 4, prepare_matmul, sketch_matmul},
    {"generic", 4, prepare_generic, sketch_generic},
}};

// Null if the name is unknown.
const Kind* find_kind(std::string_view name);
schedule::Sketch sketch_of(const Kind& kind, const Cpu& cpu);

// The activations of integer block `main` in the form that dot products (intrinsics.h) require.
void convert_activations(Preparation& p, const std::string& main);

// Applies the task's layouts to arguments and results; all intermediate images of a rank become channels-last if one of
// these is; weights of windows are stored by channel. `packed`: a constant that gets another layout.
void follow_layouts(schedule::Context& c, const std::string& packed = "");

// Whether this many lines at that distance fill most ways of their sets in the first-level cache, so that other data
// evicts them.
bool crowds_sets(std::int64_t distance_bytes, std::int64_t lines, const Cpu& cpu);

// Sizes of blocks that split `extent` evenly, except for the last block, which may be smaller.
std::vector<std::int64_t> block_sizes(std::int64_t extent);
// The largest of them that is at most `most`; a slightly smaller one if it divides the extent.
std::int64_t block_size(std::int64_t extent, std::int64_t most);
std::vector<std::int64_t> divisors(std::int64_t value);
std::int64_t largest_divisor(std::int64_t value, std::int64_t at_most);

}  // namespace dovetail::cpu
