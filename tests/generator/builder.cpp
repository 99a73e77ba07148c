#include "tests/generator/builder.h"

#include <algorithm>

#include "base/check.h"
#include "isa/semantics/load.h"
#include "isa/semantics/window.h"
#include "isa/spec/config.h"
#include "isa/spec/range.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kPage = 4096;
// Deeper queues are not filled.
constexpr std::uint64_t kMostFilled = 1024;

// Bytes that transfers of every memory can address: their field counts elements.
std::uint64_t reach(const isa::HardwareConfig& config) {
  const auto most = isa::spec::range_of<isa::Load, &isa::Transfer::dram_base>(config).most;
  std::int64_t least = isa::spec::kMaxElementBytes;
  for (const isa::Memory memory :
       {isa::Memory::uop, isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::acc8, isa::Memory::out})
    least = std::min(least, config.element_bytes(memory));
  if (config.weights4) least = std::min(least, config.element_bytes(isa::Memory::wgt4));
  return (static_cast<std::uint64_t>(most) + 1) * static_cast<std::uint64_t>(least);
}

}  // namespace

Builder::Builder(const isa::HardwareConfig& config, const GeneratorOptions& options)
    : config_(config), options_(options), random_(options.seed), codec_(config) {
  uops_.resize(depth(isa::Memory::uop));
  uop_loaded_.resize(uops_.size());
  for (std::size_t m = 0; m < kSharedMemories; ++m) defined_[m].resize(depth(kShared[m]));
  fill_image();
  synchronizer_.emplace(config_, isa::Extent{base_, data_end_}, options.extra_percent, random_.bits());
}

void Builder::fill_image() {
  uop_count_ = std::min<std::uint64_t>(2 * depth(isa::Memory::uop), 256);
  const std::uint64_t largest = std::max({bytes(isa::Memory::inp), bytes(isa::Memory::wgt), bytes(isa::Memory::acc)});
  // Half of a small address space is for data, a quarter for the program.
  const std::uint64_t space = std::min(std::uint64_t{1} << config_.address_bits, reach(config_));
  const std::uint64_t uops = (uop_count_ * bytes(isa::Memory::uop) + kPage - 1) / kPage * kPage,
                      data = std::min(std::max<std::uint64_t>(4 * kPage, 16 * largest), space / 2);
  DOVETAIL_CHECK(uops + data + space / 4 <= space, "the image does not fit the address space");
  const std::uint64_t last = (space / 4 * 3 - uops - data) / kPage;
  base_ = kPage * random_.between(0, std::min<std::uint64_t>(3, last));
  // At the end of the address space the program precedes the image.
  if (options_.anywhere && random_.chance(50))
    base_ = random_.chance(40) ? space - uops - data : kPage * random_.between(0, last);
  most_instructions_ = space / 4 / static_cast<std::uint64_t>(config_.instruction_bytes());
  data_begin_ = base_ + uops;
  data_end_ = data_begin_ + data;
  image_.resize(data_end_ - base_);
  for (std::byte& byte : image_) byte = static_cast<std::byte>(random_.below(256));
  // Rows of parameters with scales and bounds for which results of an epilogue differ.
  if (config_.epilogue)
    for (std::size_t lanes = static_cast<std::size_t>(config_.block_in), row = uops; row + lanes <= image_.size();
         row += lanes) {
      if (random_.chance(50)) continue;
      const std::uint64_t exponent = random_.between(105, 127);
      image_[row + 6] = static_cast<std::byte>((exponent & 1) << 7 | random_.below(128));
      image_[row + 7] = static_cast<std::byte>(random_.below(2) << 7 | exponent >> 1);
      image_[row + lanes - 2] = static_cast<std::byte>(128 + random_.below(128));
      image_[row + lanes - 1] = static_cast<std::byte>(random_.below(128));
    }

  // In most programs loops stay within a part of a deep memory; otherwise most instructions would be definitions.
  part_ = {random_.bits(), random_.chance(80) ? 64 : UINT64_MAX};
  // Kernels of related micro-ops. Low indices leave room for factors; sometimes an index is arbitrary.
  while (pool_.size() < uop_count_) {
    const auto start = [&](isa::Memory memory) {
      const isa::Extent range = random_.chance(98) ? part_of(memory) : isa::Extent{0, depth(memory)};
      return range.begin +
             random_.below(std::max<std::uint64_t>(1, (range.end - range.begin) / random_.pick({1u, 2u, 4u, 8u})));
    };
    const std::uint64_t dst = start(isa::Memory::acc);
    const std::uint64_t src = start(random_.chance(50) ? isa::Memory::inp : isa::Memory::acc);
    const std::uint64_t wgt = start(isa::Memory::wgt);
    const std::uint64_t dst_step = random_.below(4), src_step = random_.below(4), wgt_step = random_.below(3);
    const std::uint64_t src_depth = std::max(depth(isa::Memory::inp), depth(isa::Memory::acc));
    const std::uint64_t length = random_.between(1, 12);
    for (std::uint64_t i = 0; i < length && pool_.size() < uop_count_; ++i) {
      pool_.push_back({static_cast<std::uint32_t>((dst + i * dst_step) % depth(isa::Memory::acc)),
                       static_cast<std::uint32_t>((src + i * src_step) % src_depth),
                       static_cast<std::uint32_t>((wgt + i * wgt_step) % depth(isa::Memory::wgt))});
      if (config_.window && random_.chance(20)) pool_.back().wgt = isa::semantics::push_only(config_);
    }
  }
  std::vector<std::byte> encoded;
  for (const isa::Uop& uop : pool_)
    DOVETAIL_CHECK(codec_.encode(uop, encoded).ok(), "a generated micro-op does not fit its fields");
  std::copy(encoded.begin(), encoded.end(), image_.begin());
}

isa::Extent Builder::part_of(isa::Memory memory) const {
  const std::uint64_t size = std::min(part_.size, depth(memory));
  const std::uint64_t begin = part_.seed % (depth(memory) - size + 1);
  return {begin, begin + size};
}

GeneratedProgram Builder::build() && {
  const std::size_t launches = random_.between(1, std::max<std::size_t>(1, options_.launches));
  // Micro-ops first: computing needs them. All of UOP, so that any kernel can be picked.
  for (std::uint64_t at = 0; at < uops_.size();) {
    isa::Load load{isa::Transfer{.memory = isa::Memory::uop, .sram_base = static_cast<std::uint32_t>(at), .y_size = 1}};
    load.x_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(uop_count_, uops_.size() - at));
    load.x_stride = load.x_size;
    load.dram_base = base_ / bytes(isa::Memory::uop);
    at += load.x_size;
    emit({{}, load});
    if (at >= 4 * uop_count_) break;
  }
  const auto commands = static_cast<std::uint64_t>(config_.command_queue_depth),
             tokens = static_cast<std::uint64_t>(config_.token_queue_depth);
  // Filling a queue must not make the program too long for its part of the address space, or for a test.
  const auto has_room = [&](std::uint64_t more) {
    return more <= kMostFilled && synchronizer_->size() + options_.size + more <= most_instructions_;
  };
  for (std::size_t launch = 0; launch < launches; ++launch) {
    const std::size_t begin = synchronizer_->size();
    while (synchronizer_->size() < begin + options_.size / launches) {
      if (random_.chance(3)) draw_burst();
      else if (random_.below(10 * commands) == 0 && has_room(commands)) fill_queue();
      else if (random_.below(20 * tokens) == 0 && has_room(3 * tokens)) fill_tokens();
      else draw();
    }
    synchronizer_->end_launch();
  }
  GeneratedProgram result;
  result.config = config_;
  result.program = synchronizer_->take_program();
  result.launches = synchronizer_->take_launches();
  result.dram_base = base_;
  result.dram = std::move(image_);
  result.seed = options_.seed;
  if (options_.interleave) interleave(result, random_);
  return result;
}

void Builder::draw() {
  const std::uint64_t roll = random_.below(100);
  // Definitions and relays add loads.
  if (roll < 20) emit(draw_load());
  else if (roll < 38) emit(draw_store());
  else if (roll < 62) emit(draw_products());
  else if (roll < 86) emit(draw_alu());
  else emit({{}, isa::Finish{}});
}

// As many instructions of one queue as fill it, where that is cheap.
void Builder::draw_burst() {
  const auto length = static_cast<std::uint64_t>(std::min<std::int64_t>(config_.command_queue_depth, 12)) + 2;
  const std::uint64_t queue = random_.below(3);
  for (std::uint64_t i = 0; i < length; ++i) {
    if (queue == 0) emit(draw_load(random_.chance(50) ? isa::Memory::inp : isa::Memory::wgt));
    else if (queue == 1) emit(random_.chance(50) ? draw_products() : draw_alu());
    else emit(draw_store());
  }
}

// As many instructions as fill any queue. Few of them move data, so that a deep queue does not cost a long run.
void Builder::fill_queue() {
  const auto queue = random_.pick({isa::Queue::load, isa::Queue::compute, isa::Queue::store});
  for (std::int64_t i = 0; i < config_.command_queue_depth + 2; ++i) {
    const bool works = i < 2 || random_.chance(10);
    if (queue == isa::Queue::load)
      emit(works ? draw_load(random_.pick({isa::Memory::inp, isa::Memory::wgt})) : nop(queue));
    else if (queue == isa::Queue::compute)
      emit(works ? draw_alu() : random_.chance(50) ? nop(queue) : isa::Instruction{{}, isa::Finish{}});
    else emit(works ? draw_store() : nop(queue));
  }
}

// More tokens than a FIFO holds, after an instruction that keeps their consumer busy.
void Builder::fill_tokens() {
  const auto [from, to] = random_.pick(
      {std::pair{isa::Queue::load, isa::Queue::compute}, std::pair{isa::Queue::compute, isa::Queue::load},
       std::pair{isa::Queue::compute, isa::Queue::store}, std::pair{isa::Queue::store, isa::Queue::compute}});
  for (std::uint64_t i = random_.below(10); i > 0; --i)
    emit(to == isa::Queue::load ? draw_load(isa::Memory::wgt) : to == isa::Queue::store ? draw_store() : draw_alu());
  synchronizer_->append_token_run(from, to, static_cast<std::size_t>(config_.token_queue_depth) + random_.below(8));
}

// Elements that the instruction reads and that are not written yet are loaded first.
void Builder::emit(const isa::Instruction& instruction) {
  const Touches touched = touches(config_, instruction, uops_);
  for (std::size_t m = 0; m < kSharedMemories; ++m) {
    std::vector<std::uint32_t> missing;
    for (const std::uint32_t e : touched.reads[m])
      if (!defined_[m][e]) missing.push_back(e);
    if (!missing.empty()) define(kShared[m], missing);
  }
  for (std::size_t m = 0; m < kSharedMemories; ++m)
    for (const std::uint32_t e : touched.writes[m]) defined_[m][e] = true;
  if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && load->memory == isa::Memory::uop)
    isa::semantics::for_each_loaded_run(
        *load,
        [&](std::uint64_t sram, std::uint64_t count) {
          for (std::uint64_t i = sram; i < sram + count; ++i) uops_[i] = {}, uop_loaded_[i] = true;
        },
        [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
          const std::uint64_t from = dram - base_ / bytes(isa::Memory::uop);
          for (std::uint64_t i = 0; i < count; ++i) uops_[sram + i] = pool_[from + i], uop_loaded_[sram + i] = true;
        });
  synchronizer_->append(instruction, touched);
}

GeneratedProgram generate(const isa::HardwareConfig& config, const GeneratorOptions& options) {
  return Builder(config, options).build();
}

}  // namespace dovetail::test
