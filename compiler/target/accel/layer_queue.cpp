#include "compiler/target/accel/layer_queue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dovetail::accel {

LayerQueue::LayerQueue(const Core& config, std::shared_ptr<Memo> memo, const Dump& dump)
    : config_(config), facts_(config), memo_(std::move(memo)), dump_(dump) {}

void LayerQueue::add(Layer layer, bool analytic) {
  if (held_back_ && analytic)
    if (const std::optional<LayerPair> pair = accel::side_by_side(*held_back_, layer, config_, memo_)) {
      held_back_.reset();
      const std::size_t before = stream_.instructions.size();
      append(pair->first);
      append(pair->second);
      std::vector<StreamInstruction> ordered;
      for (const std::size_t i : pair->order) ordered.push_back(stream_.instructions[before + i]);
      std::ranges::move(ordered, stream_.instructions.begin() + static_cast<std::ptrdiff_t>(before));
      side_by_side_.push_back(
          {static_cast<std::size_t>(pair->first.node), static_cast<std::size_t>(pair->second.node)});
      return;
    }
  finish();
  if (analytic) held_back_ = std::move(layer);
  else append(layer);
}

void LayerQueue::finish() {
  if (held_back_) append(*held_back_);
  held_back_.reset();
}

SramHistory LayerQueue::history() const {
  SramHistory history = history_;
  if (held_back_) touch(*held_back_->lowered, stream_.instructions.size(), history);
  return history;
}

void LayerQueue::append(const Layer& layer) {
  if (dump_) dump_("places", fmt::format("# {}\n{}", layer.program.name, places_text(layer.program, layer.placements)));
  accel::append(*layer.lowered, layer.program, facts_, layer.dram, layer.node, history_, stream_);
}

}  // namespace dovetail::accel
