#include "compiler/graph/index.h"

#include <algorithm>

namespace dovetail::graph {

namespace {

constexpr std::size_t kFew = 8;  // number of outputs up to which they are searched linearly

}  // namespace

void Outputs::push_back(ValueId id) {
  ids_.push_back(id);
  if (!known_.empty()) known_.insert(id.index);
}

void Outputs::pop_back() {
  ids_.pop_back();
  known_.clear();
}

void Outputs::clear() {
  ids_.clear();
  known_.clear();
}

void Outputs::replace(ValueId from, ValueId to) {
  if (!contains(from)) return;
  std::replace(ids_.begin(), ids_.end(), from, to);
  if (known_.empty()) return;
  known_.erase(from.index);
  known_.insert(to.index);
}

bool Outputs::contains(ValueId id) const {
  if (ids_.size() <= kFew) return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  if (known_.empty())
    for (const ValueId output : ids_) known_.insert(output.index);
  return known_.count(id.index) != 0;
}

void GraphIndex::add_reader(ValueId value, NodeId node) {
  const auto at = static_cast<std::size_t>(value.index);
  if (readers.size() <= at) readers.resize(at + 1);
  std::vector<NodeId>& list = readers[at];
  if (list.empty() || list.back() < node) return list.push_back(node);
  const auto place = std::lower_bound(list.begin(), list.end(), node);
  if (*place != node) list.insert(place, node);
}

void GraphIndex::add_name(const std::string& name, NodeId node) {
  std::vector<NodeId>& list = nodes_of[name];
  if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
}

}  // namespace dovetail::graph
